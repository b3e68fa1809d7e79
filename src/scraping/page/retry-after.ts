/**
 * Parses a Retry-After header: seconds, or a date. Null if it cannot be understood. The result is never more than
 * `maxMs`: one answer must not close a host for as long as its server likes.
 */
export function retryAfterMs(header: string | undefined, now: number, maxMs: number): number | null {
  const value = header?.trim() ?? '';
  if (/^\d+(?:\.\d+)?$/.test(value)) return clamp(Number(value) * 1000, maxMs);
  // Without the name of a month it is not an HTTP date, and Date.parse accepts nearly anything.
  if (!/[a-z]{3}/i.test(value)) return null;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : clamp(at - now, maxMs);
}

function clamp(ms: number, maxMs: number): number {
  return Math.min(maxMs, Math.max(0, Math.round(ms)));
}
