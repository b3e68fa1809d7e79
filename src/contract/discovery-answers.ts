import { z } from 'zod';
import { count } from './answer-fields.ts';

/** What the API says about items that scrapers find. */
export const discoverySchema = z
  .object({
    found: count('Entries that attempts returned, including repeated ones.'),
    added: count('Entries that became items of the job.'),
    duplicates: count('Entries that the job had already.'),
    conflicts: count('Entries whose id the job already has with another input; that input is kept.'),
    too_deep: count('Entries further from the submitted items than `discovery.max_depth` of the policy; not added.'),
    over_limit: count(
      'Entries beyond `discovery.max_items` of the policy, or beyond what one attempt may return, or found after the job ' +
        'was cancelled; not added.',
    ),
    invalid: count('Entries that the scraper itself does not accept as input; `metadata.json` of the item says why.'),
  })
  .nullable()
  .meta({
    description:
      'What became of the items that the scraper found; null if it found none. `found` is the sum of the others.',
  });
