import type { WorkerGate } from '../../src/ports/host-gate.ts';
import type { ScrapeTools } from '../../src/scraping/scraper.ts';

/** For scrapers that go nowhere: one that tries to is a bug of the test. */
export const NO_TOOLS: ScrapeTools & { readonly gate: WorkerGate } = {
  web: { send: () => Promise.reject(new Error('this test has no web')) },
  gate: {
    enter: () => Promise.reject(new Error('this test has no web')),
    isOpen: () => true,
    hold: () => {},
    noteTrouble: () => 'rare',
  },
  log: { debug: () => {}, info: () => {}, warn: () => {} },
};
