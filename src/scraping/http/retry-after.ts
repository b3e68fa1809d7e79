const DAY_MS = 86_400_000;

/** Of a Retry-After header: seconds, or a date. Null when it says nothing that we understand. Never more than a day. */
export function retryAfterMs(header: string | undefined, now: number): number | null {
  const value = header?.trim() ?? '';
  if (/^\d+(?:\.\d+)?$/.test(value)) return clamp(Number(value) * 1000);
  // Without a name of a month it is no HTTP date, and Date.parse makes one of nearly anything.
  if (!/[a-z]{3}/i.test(value)) return null;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : clamp(at - now);
}

function clamp(ms: number): number {
  return Math.min(DAY_MS, Math.max(0, Math.round(ms)));
}
