/** `ENOENT`, `ECONNRESET` and the like; null where an error has none. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
