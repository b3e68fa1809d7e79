import { HostWatch } from '../../src/domain/host-watch.ts';
import { NO_SECRETS } from '../../src/domain/secrets.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';
import { UNCHECKED } from '../../src/scraping/robots/robots-check.ts';
import { SharedStates } from '../../src/scraping/shared-states.ts';
import type { WorkerDeps } from '../../src/worker/worker.ts';

/** For scrapers that make no requests: one that tries to is a bug in the test. */
export const NO_TOOLS: WorkerDeps['tools'] = {
  web: { send: () => Promise.reject(new Error('this test has no web')) },
  gate: {
    ...OPEN_GATE,
    enter: () => Promise.reject(new Error('this test has no web')),
    isOpen: () => true,
    opening: () => null,
    setJobLimits: () => {},
    paceItem: () => null,
  },
  watch: new HostWatch(),
  log: { debug: () => {}, info: () => {}, warn: () => {} },
  secrets: NO_SECRETS,
  states: sharedStates(),
  robots: UNCHECKED,
  browser: null,
  siteTools: null,
  allowsScripts: false,
};

/** Shared states in a world where time does not pass. */
export function sharedStates(): SharedStates {
  return new SharedStates({ gate: OPEN_GATE, elapsed: () => 0, sleep: async () => {} });
}
