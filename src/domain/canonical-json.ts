/**
 * The same text for all ways to write the same JSON: object keys are sorted. For values from JSON.parse that are not
 * deeply nested.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  entries.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([name, each]) => `${JSON.stringify(name)}:${canonicalJson(each)}`).join()}}`;
}
