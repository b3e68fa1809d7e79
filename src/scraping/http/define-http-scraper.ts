import type { z } from 'zod';
import { compileHosts } from '../../domain/allowed-hosts.ts';
import { checkFacts, defineScraper, type ScraperFacts } from '../define-scraper.ts';
import { extractPage, type ToParse } from '../extract-page.ts';
import { compileSigns, type Signs } from '../page/signs.ts';
import { DEFAULT_LIMITS, parserOf } from '../returned.ts';
import type { ScrapeResult, Scraper } from '../scraper.ts';
import { type SiteContext, type SiteResult, visitSite } from '../visit-site.ts';
import { clientOpener } from './open-client.ts';
import { Setup, type SetupContext } from './setup.ts';

interface HttpFacts<Input extends z.ZodType> extends ScraperFacts<Input> {
  /**
   * Other hosts are refused, including by redirects. `example.gov` is only that host; `*.example.gov` is everything
   * below it.
   */
  readonly hosts: readonly string[];
  readonly limits?: { readonly pageBytes?: number; readonly documentBytes?: number };
  /** Texts by which this site says that it blocks us, is down, or found nothing: looked for in every answer. */
  readonly signs?: Signs;
}

interface WithSetup<State> {
  /**
   * Run before the first item of a process, and again when a site answers 401: logs in, or fetches a token. All items
   * share what it returns, as `state`, and begin with the cookies that it received. Write it above `scrape`.
   */
  setup?(context: SetupContext): Promise<State>;
}

export interface HttpScraperDefinition<Input extends z.ZodType, Output extends z.ZodType, State = undefined>
  extends HttpFacts<Input>,
    WithSetup<State> {
  readonly output: Output;
  scrape(context: HttpScrapeContext<z.output<Input>, NoInfer<State>>): Promise<HttpScrapeResult<z.input<Output>>>;
  /** Makes the data from the pages, and from nothing else, so that a newer version can be run over stored pages. */
  parse?(stored: ToParse<z.output<Input>>): z.input<Output>;
}

/** Keeps pages and extracts nothing: a later version with `output` and `parse` can read what was kept. */
export interface PageScraperDefinition<Input extends z.ZodType, State = undefined>
  extends HttpFacts<Input>,
    WithSetup<State> {
  readonly output?: undefined;
  readonly parse?: undefined;
  scrape(context: HttpScrapeContext<z.output<Input>, NoInfer<State>>): Promise<HttpScrapeResult<undefined>>;
}

/** What `scrape` gets. */
export type HttpScrapeContext<Input, State = unknown> = SiteContext<Input, State>;

export type HttpScrapeResult<Data> = SiteResult<Data>;

/** A scraper that requests pages and reads them, without a browser. Without `output` it keeps the pages unread. */
export function defineHttpScraper<Input extends z.ZodType, Output extends z.ZodType, State = undefined>(
  definition: HttpScraperDefinition<Input, Output, State>,
): Scraper;
export function defineHttpScraper<Input extends z.ZodType, State = undefined>(
  definition: PageScraperDefinition<Input, State>,
): Scraper;
export function defineHttpScraper<Input extends z.ZodType, State>(
  definition: HttpScraperDefinition<Input, z.ZodType, State> | PageScraperDefinition<Input, State>,
): Scraper {
  const { id, name, version, description, input, hosts, output = null } = definition;
  const signs = compileSigns(definition.signs ?? {});
  checkFacts(definition);
  const parser = parserOf(definition);
  const allowsHost = compileHosts(hosts);
  const limits = { ...DEFAULT_LIMITS, ...definition.limits };
  const open = clientOpener({ limits, signs, allowsHost });
  const setup = definition.setup && new Setup(id, definition.setup.bind(definition), open);
  const parts = { parser, output, limits, open };

  return defineScraper({
    ...{ id, name, version, description, input, output, hosts },
    kind: 'http',
    lane: 'http',
    metadata: true,
    scrape(context): Promise<ScrapeResult> {
      const items = setup?.forItem(context) ?? null;
      return visitSite(context, { ...parts, items, scrape: (given) => definition.scrape(given) });
    },
    extract: parser && ((stored) => extractPage(parser, stored)),
  });
}
