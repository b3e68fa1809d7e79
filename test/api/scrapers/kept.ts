import { defineHttpScraper, fail, z } from 'trawl/scraper';

/** Builds its page from its input, so that a page can be stored and read again without a site. */
export default defineHttpScraper({
  id: 'test-kept',
  name: 'A page of its own',
  version: '1.0.0',
  description:
    'Keeps a page with the `owner` and the `note` of its input, or only the data of one that is `pageless`; cannot read one that is `broken`.',
  input: z.looseObject({
    owner: z.string().optional(),
    note: z.string().optional(),
    pageless: z.boolean().optional(),
    broken: z.boolean().optional(),
    ms: z.number().default(0),
  }),
  output: z.object({ owner: z.string() }),
  hosts: ['nowhere.test'],
  async scrape({ input: { owner, note, pageless, ms }, sleep }) {
    await sleep(ms);
    if (owner === undefined) return fail('no_results', 'nobody owns it');
    if (pageless === true) return { data: { owner } };
    return { html: `<p class="owner">${owner}</p>${note === undefined ? '' : `<p class="note">${note}</p>`}` };
  },
  parse({ page, input }) {
    if (input.broken === true) return fail('structure_changed', 'it cannot read that yet');
    return { owner: page.text('.owner') };
  },
});
