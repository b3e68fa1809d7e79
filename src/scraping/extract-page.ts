import type { z } from 'zod';
import { problemsOf, type WithInput } from './define-scraper.ts';
import type { Reader } from './extract/reader.ts';
import { StoredPage } from './extract/stored-page.ts';
import { seenOn } from './page/page-fingerprint.ts';
import { fail } from './scrape-failure.ts';
import type { ProducedArtifact, ScrapeResult, StoredInput } from './scraper.ts';

/** What makes data of a page, and of nothing else. */
export interface PageParser<Input extends z.ZodType> {
  readonly output: z.ZodType;
  parse(stored: { readonly page: Reader & { readonly body: string }; readonly input: z.output<Input> }): unknown;
}

/** Data of a page that was kept: nothing that could ask for another one comes in here. */
export function extractPage<Input extends z.ZodType>(
  parser: PageParser<Input>,
  stored: WithInput<StoredInput, Input>,
): ScrapeResult {
  const { body, url, input } = stored;
  const page = new StoredPage(body, url ?? 'about:blank');
  try {
    // Only that: where the page came from, the metadata of its own job tell, and by what it was read, the ledger does.
    return { kind: 'scraped', artifacts: [dataArtifact(parser.output, parser.parse({ page, input }))] };
  } catch (error) {
    throw seenOn(page, error);
  }
}

/** The data as they are kept, if they are what the scraper says of them. */
export function dataArtifact(output: z.ZodType, data: unknown): ProducedArtifact {
  const checked = output.safeParse(data);
  return checked.success ? jsonArtifact(checked.data) : fail('invalid_output', problemsOf(checked.error));
}

function jsonArtifact(value: unknown): ProducedArtifact {
  const bytes = Buffer.from(`${JSON.stringify(value) ?? 'null'}\n`);
  return { kind: 'data', bytes };
}
