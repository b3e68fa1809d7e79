import { z } from 'zod';
import { count, flag, itemId, jobId, list, text, textOrNull } from './answer-fields.ts';
import { summarySchema } from './job-answers.ts';
import { itemStatusSchema, jobStatusSchema } from './statuses.ts';

/** What the API says about the result index of a job. */
const partLinkSchema = z.object({
  part: count('0-based number of the part.'),
  items: z.int().min(0).nullable().meta({ description: 'Items in the part; null until the results are final.' }),
  sha256: textOrNull('SHA-256 of the part, in hex; null until the results are final.'),
  href: text('Where to get it.'),
});

export const resultsSchema = z
  .object({
    job_id: jobId,
    status: jobStatusSchema,
    filter: z.enum(['all', 'success', 'errors']).meta({ description: 'Which items the parts contain.' }),
    final: flag('False until the job is over; until then parts contain the items that are final so far.'),
    summary: summarySchema,
    parts: list(partLinkSchema, 'In order.'),
    links: z
      .object({
        assets: count('URLs of files.'),
        unknown: count('URLs that belong to no site.'),
        href: text('Where they are listed.'),
      })
      .optional()
      .meta({ description: 'URLs that are not fetched; only for jobs that were created from a list of URLs.' }),
  })
  .meta({ id: 'Results', description: 'The parts of the result index.' });

export const resultPartSchema = z
  .object({
    job_id: jobId,
    list: z.enum(['full', 'success', 'errors']).meta({ description: 'Which list of the index the part belongs to.' }),
    part: count('0-based number of the part.'),
    count: count('Items in the part.'),
    items: list(z.looseObject({ item_id: itemId, status: itemStatusSchema }), 'In the order in which they were added.'),
  })
  .meta({ id: 'ResultPart', description: 'One part of the result index: up to a thousand items.' });

export type ResultsAnswer = z.infer<typeof resultsSchema>;
export type ResultPartAnswer = z.infer<typeof resultPartSchema>;
