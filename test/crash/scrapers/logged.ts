import { appendFileSync } from 'node:fs';
import { definePlainScraper, z } from 'trawl/scraper';

/**
 * Takes `ms`, keeps `bytes` bytes that differ from any other item's, and notes its start and end in the file
 * `log`, with its process, to show afterwards what a killed process was working on and when that ran again.
 */
export default definePlainScraper({
  id: 'crash-logged',
  name: 'Notes its starts and ends',
  version: '1.0.0',
  description: 'For the crash loop.',
  input: z.object({ log: z.string(), ms: z.number(), bytes: z.number() }),
  async scrape({ input, jobId, itemId, sleep }) {
    const { log, ms, bytes } = input;
    const note = (what: string) => appendFileSync(log, `${what} ${jobId}/${itemId} ${process.pid} ${Date.now()}\n`);
    note('start');
    await sleep(ms);
    note('end');
    const text = `${itemId} `.repeat(Math.ceil(bytes / (itemId.length + 1)));
    const body = new TextEncoder().encode(text.slice(0, bytes));
    return { kind: 'scraped', artifacts: [{ kind: 'html', bytes: body, contentType: 'text/html', extension: 'html' }] };
  },
});
