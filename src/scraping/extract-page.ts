import type { z } from 'zod';
import { problemsOf, type WithInput } from './define-scraper.ts';
import { StoredPage } from './extract/stored-page.ts';
import { KeptPages, type PageToParse } from './kept-pages.ts';
import { seenOn } from './page/page-fingerprint.ts';
import { fail } from './scrape-failure.ts';
import type { ProducedArtifact, ScrapeResult, StoredInput, StoredText } from './scraper.ts';

/** What `parse` gets of an item. */
export interface ToParse<Input> {
  /** The `html` that was returned; if there was none, the first of the pages. */
  readonly page: PageToParse;
  readonly pages: KeptPages;
  readonly input: Input;
}

/** Makes data from pages, and from nothing else. */
export interface PageParser<Input extends z.ZodType> {
  readonly output: z.ZodType;
  parse(stored: ToParse<z.output<Input>>): unknown;
}

/** Extracts data from stored pages: nothing in here could request another one. */
export function extractPage<Input extends z.ZodType>(
  parser: PageParser<Input>,
  stored: WithInput<StoredInput, Input>,
): ScrapeResult {
  const { input, pages = new Map() } = stored;
  const page = storedPage(stored);
  const named = new Map([...pages].map(([name, each]) => [name, storedPage(each)]));
  try {
    // Only the data: the page's origin is in the metadata of its own job, and the ledger knows which scraper read it.
    const data = parser.parse({ page, pages: new KeptPages(named), input });
    return { kind: 'scraped', artifacts: [dataArtifact(parser.output, data)] };
  } catch (error) {
    throw seenOn(page, error);
  }
}

function storedPage({ body, url }: StoredText): StoredPage {
  return new StoredPage(body, url ?? 'about:blank');
}

/** The data in stored form, if they match the scraper's schema. */
export function dataArtifact(output: z.ZodType, data: unknown): ProducedArtifact {
  const checked = output.safeParse(data);
  return checked.success ? jsonArtifact(checked.data) : fail('invalid_output', problemsOf(checked.error));
}

function jsonArtifact(value: unknown): ProducedArtifact {
  const bytes = Buffer.from(`${JSON.stringify(value) ?? 'null'}\n`);
  return { kind: 'data', bytes };
}
