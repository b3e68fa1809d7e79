/** What an error says, whatever was thrown. For a log, which must not show secrets, there is `describeError`. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
