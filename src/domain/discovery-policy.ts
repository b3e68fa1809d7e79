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
          'How far items may be from the submitted ones: what a submitted item finds has depth 1, what that finds has depth 2. ' +
          '0 adds nothing that is found.',
      })
      .default(5),
    max_items: z
      .number()
      .int()
      .min(0)
      .max(100_000_000)
      .meta({ description: 'How many found items are added to the job, besides the submitted ones.' })
      .default(100_000),
  })
  .meta({
    description:
      'What becomes of items that the scraper finds. What exceeds a limit is not added; the status of the job counts it.',
  });

export type DiscoveryPolicy = z.infer<typeof discoverySchema>;
