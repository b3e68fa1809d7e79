import { defineHttpScraper, fail, z } from 'trawl/scraper';

/** The later version of `test-kept`: it reads a name without its prefix, and notes. It cannot fetch anything. */
export default defineHttpScraper({
  id: 'test-kept-again',
  name: 'A page of its own, read anew',
  version: '2.0.0',
  description: 'Reads the pages of test-kept, each in `parse_ms`; of those that are `illegible` nothing.',
  input: z.looseObject({ illegible: z.boolean().optional(), parse_ms: z.number().default(0) }),
  output: z.object({ owner: z.string(), note: z.string().optional() }),
  hosts: ['nowhere.test'],
  async scrape() {
    return fail('unexpected', 'it only reads');
  },
  parse({ page, input }) {
    if (input.parse_ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, input.parse_ms);
    if (input.illegible === true) return fail('structure_changed', 'nobody can read that');
    const note = page.optional.text('.note');
    return { owner: page.text('.owner').replace(/^c\/o /, ''), ...(note === null ? {} : { note }) };
  },
});
