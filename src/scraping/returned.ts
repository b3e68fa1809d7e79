import type { z } from 'zod';
import { StoredPage } from './extract/stored-page.ts';
import { dataArtifact, type PageParser, type ToParse } from './extract-page.ts';
import type { NamedPage } from './http/named-pages.ts';
import type { WebDocument } from './http/web-document.ts';
import { KeptPages, type PageToParse } from './kept-pages.ts';
import type { Disallowed } from './robots/disallowed.ts';
import { fail } from './scrape-failure.ts';
import type { ProducedArtifact, ScrapeContext, ScrapeLog, ScrapeResult } from './scraper.ts';

/** Processes what `scrape` returned, whether a browser fetched it or not. */

const MIB = 1 << 20;
/** The largest known county pages have some MiB; anything larger is a mistake or an attack. */
export const DEFAULT_LIMITS = { pageBytes: 8 * MIB, documentBytes: 100 * MIB };

/** Makes data from the pages of a definition; null if it has no `parse`. */
export function parserOf<Input extends z.ZodType>(definition: {
  readonly id: string;
  readonly output?: z.ZodType | undefined;
  readonly parse?: ((stored: ToParse<z.output<Input>>) => unknown) | undefined;
}): PageParser<Input> | null {
  const { id, output } = definition;
  const parse = definition.parse?.bind(definition);
  if (parse === undefined) return null;
  // Not all scrapers are type-checked.
  if (output === undefined) throw new Error(`${id}: parse needs an output schema, which says what it makes`);
  return { output, parse };
}

export function checkReturned<Result>(result: Result): NonNullable<Result> {
  if (typeof result === 'object' && result !== null) return result;
  const got = result === null ? 'null' : typeof result;
  return fail('unexpected', `scrape returned ${got}: it must return { html, data }`);
}

/** The data as one artifact; none for a scraper that keeps pages only. */
export function dataOf<Input extends z.ZodType>(
  parser: PageParser<Input> | null,
  output: z.ZodType | null,
  data: unknown,
  stored: ToParse<z.output<Input>> | null,
): readonly ProducedArtifact[] {
  if (output !== null) {
    if (data !== undefined || parser === null) return [dataArtifact(output, data)];
    if (stored === null) return fail('unexpected', 'the scraper returned neither data nor a page to parse');
    return [dataArtifact(output, parser.parse(stored))];
  }
  if (data !== undefined) fail('invalid_output', 'scrape returned data, and the scraper has no output schema for it');
  if (stored === null) fail('invalid_output', 'scrape returned no page, and the scraper has no output schema for data');
  return [];
}

/** A text that the scraper made itself counts as a page from its last address. */
export function pageOf(
  html: PageToParse | string | null | undefined,
  lastPage: { readonly url: string } | null,
): PageToParse | null {
  if (typeof html === 'string') return new StoredPage(html, lastPage?.url ?? 'about:blank');
  // Not all scrapers are type-checked.
  if (html && typeof html.body !== 'string') fail('unexpected', 'the html is neither a page nor a text');
  return html ?? null;
}

/** Null when there is no page at all. */
export function toParse<Input>(
  html: PageToParse | null,
  named: readonly NamedPage[],
  input: Input,
): ToParse<Input> | null {
  const page = html ?? named[0]?.page;
  if (page === undefined) return null;
  return { page, pages: new KeptPages(new Map(named.map((each) => [each.name, each.page]))), input };
}

/** What was fetched before says nothing about the item without the rest. */
export function skip({ url, message }: Disallowed, log: ScrapeLog): ScrapeResult {
  log.debug({ url }, message);
  return { kind: 'skipped', reason: 'robots' };
}

/** Stored as UTF-8, whatever its encoding was; its `<meta>` may disagree, so readers must use the content type. */
export function htmlArtifact(page: PageToParse): ProducedArtifact {
  return { kind: 'html', bytes: Buffer.from(page.body) };
}

export function documentArtifact({ draft, contentType, extension }: WebDocument): ProducedArtifact {
  return { kind: 'document', bytes: draft, contentType, extension };
}

export function logOf({ tools: { log }, jobId, itemId }: Pick<ScrapeContext, 'tools' | 'jobId' | 'itemId'>): ScrapeLog {
  const about = { job_id: jobId, item_id: itemId };
  return {
    debug: (fields, message) => log.debug({ ...about, ...fields }, message),
    info: (fields, message) => log.info({ ...about, ...fields }, message),
    warn: (fields, message) => log.warn({ ...about, ...fields }, message),
  };
}
