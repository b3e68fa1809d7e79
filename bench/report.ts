/** A table for people; `--json` is for programs. */
export function printTable(result: Readonly<Record<string, unknown>>): void {
  const rows = Object.entries(result).map(([name, value]) => [name, show(value)] as const);
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) console.log(`${name.padEnd(width)}  ${value}`);
}

function show(value: unknown): string {
  if (typeof value === 'number') return value >= 100 ? Math.round(value).toLocaleString('en-US') : String(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
