/** Resolves at the first SIGINT or SIGTERM. The second ends the process at once: nothing is lost, only not given back. */
export function untilToldToStop(): Promise<void> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve());
  });
}
