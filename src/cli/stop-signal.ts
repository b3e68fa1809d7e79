const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Resolves at the first SIGINT or SIGTERM. The second ends the process at once: nothing is lost, only not given back. */
export function untilToldToStop(): Promise<void> {
  return new Promise((resolve) => {
    const hear = () => {
      for (const name of SIGNALS) process.removeListener(name, hear);
      resolve();
    };
    for (const name of SIGNALS) process.on(name, hear);
  });
}
