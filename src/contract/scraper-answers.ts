import { z } from 'zod';
import { LANES } from '../domain/lane.ts';
import { flag, list, text, textOrNull } from './answer-fields.ts';

/** What the API says of scrapers. */
export const scraperSummarySchema = z
  .object({
    id: text('What jobs name it by.'),
    name: text('What people call it.'),
    version: text('Its version as it is now.'),
    description: text('What it collects.'),
    kind: text('How it works: over HTTP, in a browser, …'),
    hosts: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Hosts that it asks; empty if they come with the input, null if they cannot be known.' }),
  })
  .meta({ id: 'ScraperSummary', description: 'A scraper, as it stands in a list.' });

export const scrapersSchema = z.object({
  scrapers: list(scraperSummarySchema, 'Those that can be used, by id.'),
  broken: list(
    z.object({ id: textOrNull('Its id, if that can be told.'), problem: text('Why it cannot be used.') }),
    'Those that cannot be used.',
  ),
});

export const scraperSchema = scraperSummarySchema
  .extend({
    lane: z.enum(LANES).meta({ description: 'Which workers run it.' }),
    can_extract: flag('Whether it can read pages that were kept, without the web.'),
    input_schema: z.looseObject({}).meta({ description: 'JSON Schema of an item’s input.' }),
    output_schema: z
      .looseObject({})
      .nullable()
      .meta({ description: 'JSON Schema of the data; null for one that extracts nothing.' }),
  })
  .meta({ id: 'Scraper', description: 'A scraper, with the JSON schemas of its input and its data.' });

export type ScrapersAnswer = z.infer<typeof scrapersSchema>;
export type ScraperAnswer = z.infer<typeof scraperSchema>;
