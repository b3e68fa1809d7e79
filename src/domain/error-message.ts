/** The message of anything that was thrown. For logs, which must not show secrets, use `describeError`. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
