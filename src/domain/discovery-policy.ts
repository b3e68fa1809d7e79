import { z } from 'zod';

export const discoverySchema = z
  .strictObject({
    max_depth: z
      .number()
      .int()
      .min(0)
      .max(1000)
      .meta({
        description:
          'How far found items may be from the submitted ones: an item found by a submitted item has depth 1, one found by that has depth 2.  ' +
          'With 0, found items are not added.',
      })
      .default(5),
    max_items: z
      .number()
      .int()
      .min(0)
      .max(100_000_000)
      .meta({ description: 'How many found items may be added to the job, in addition to the submitted ones.' })
      .default(100_000),
  })
  .meta({
    description:
      'Which of the items that the scraper finds become items of the job. Items beyond a limit are not added; the status of the job counts them.',
  });
