/**
 * Resolves at the first SIGINT or SIGTERM. A second Ctrl-C ends the process at once: nothing is lost, only not given
 * back. A second SIGTERM does not: a signal to the whole process group reaches us twice, through bin/trawl and
 * directly.
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
