import { definePlainScraper, z } from 'trawl/scraper';

export default definePlainScraper({
  id: 'example-killer',
  name: 'Kills its process',
  version: '1.0.0',
  description:
    'Ends its worker by SIGKILL where the input says `kill: true`; succeeds otherwise. For showing poison items.',
  input: z.looseObject({ kill: z.boolean().default(false) }),
  async scrape({ input, sleep }) {
    await sleep(5);
    if (input.kill) process.kill(process.pid, 'SIGKILL');
    return { kind: 'scraped', artifacts: [] };
  },
});
