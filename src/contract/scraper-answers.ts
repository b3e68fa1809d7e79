import { z } from 'zod';
import { LANES } from '../domain/lane.ts';
import { flag, list, text, textOrNull } from './answer-fields.ts';

/** What the API says about scrapers. */
const scraperSummarySchema = z
  .object({
    id: text('The id that jobs refer to.'),
    name: text('A display name.'),
    version: text('Current version.'),
    description: text('What it collects.'),
    kind: text('How it works: over HTTP, in a browser …'),
    hosts: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Hosts it contacts; empty if the input names them, null if they cannot be known.' }),
  })
  .meta({ id: 'ScraperSummary', description: 'A scraper as listed.' });

export const scrapersSchema = z.object({
  scrapers: list(scraperSummarySchema, 'Usable scrapers, by id.'),
  broken: list(
    z.object({ id: textOrNull('Its id, if known.'), problem: text('Why it cannot be used.') }),
    'Scrapers that cannot be used.',
  ),
});

export const scraperSchema = scraperSummarySchema
  .extend({
    lane: z.enum(LANES).meta({ description: 'Which workers run it.' }),
    can_extract: flag('Whether it can parse stored pages without contacting the site.'),
    input_schema: z.looseObject({}).meta({ description: 'JSON Schema of an item’s input.' }),
    output_schema: z
      .looseObject({})
      .nullable()
      .meta({ description: 'JSON Schema of the extracted data; null if it extracts none.' }),
  })
  .meta({ id: 'Scraper', description: 'A scraper with the JSON Schemas of its input and its data.' });

export type ScrapersAnswer = z.infer<typeof scrapersSchema>;
export type ScraperAnswer = z.infer<typeof scraperSchema>;
