/**
 * Resolves at the first SIGINT or SIGTERM. A second Ctrl-C ends the process at once: nothing is lost, only not given back.
 * A second SIGTERM does not: who sends one to a whole group of processes reaches us twice, by bin/trawl and directly.
 */
export function untilToldToStop(): Promise<void> {
  return new Promise((resolve) => {
    const interrupt = () => {
      process.removeListener('SIGINT', interrupt);
      resolve();
    };
    process.on('SIGINT', interrupt);
    process.on('SIGTERM', () => {
      process.removeListener('SIGINT', interrupt);
      resolve();
    });
  });
}
