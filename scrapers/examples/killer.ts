import type { Scraper } from '../../src/scraping/scraper.ts';

/** Input: `kill`, true for an item that takes its worker process down with it. */
export default {
  id: 'example-killer',
  name: 'Kills its process',
  version: '1.0.0',
  description:
    'Ends its worker by SIGKILL where the input says `kill: true`; succeeds otherwise. For showing poison items.',
  lane: 'http',
  async scrape({ input, sleep }) {
    await sleep(5);
    if (input['kill'] === true) process.kill(process.pid, 'SIGKILL');
    return { kind: 'scraped', artifacts: [] };
  },
} satisfies Scraper;
