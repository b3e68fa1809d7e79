import { z } from 'zod';
import { LANES } from '../domain/lane.ts';
import { count, flag, list, text, textOrNull, time } from './answer-fields.ts';

/** A recording as it is written. What it may hold is checked by the operation, which names steps and fields. */
export const recordingDocument = z.looseObject({});

export const newScraperBody = recordingDocument.meta({
  id: 'Recording',
  description: 'A recording: docs/recording.schema.json is its JSON Schema, docs/recording-steps.md lists its steps.',
});

/** What the API says about scrapers. */
const scraperSummarySchema = z
  .object({
    id: text('The id that jobs refer to.'),
    name: text('A display name.'),
    version: text('Current version.'),
    description: text('What it collects.'),
    kind: text('How it works: over HTTP, in a browser, as a recording …'),
    source: z.enum(['file', 'api']).meta({
      description: '`file`: it comes with the server. `api`: a recording that was stored with `POST /scrapers`.',
    }),
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
    versions: list(
      z.object({ version: text('The version.'), added_at: time('When it was stored.') }),
      'Stored versions, the oldest first: new jobs use the last. Empty for a scraper that is a file.',
    ),
    recording: recordingDocument
      .nullable()
      .meta({ description: 'The recording, as it was stored; null for a scraper that is a file.' }),
  })
  .meta({ id: 'Scraper', description: 'A scraper with the JSON Schemas of its input and its data.' });

export const removedScraperSchema = z.object({
  id: text('The scraper that was removed.'),
  versions: count('How many versions it had.'),
});

export type RemovedScraperAnswer = z.infer<typeof removedScraperSchema>;
export type ScrapersAnswer = z.infer<typeof scrapersSchema>;
export type ScraperAnswer = z.infer<typeof scraperSchema>;
