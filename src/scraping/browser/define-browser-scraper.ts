import type { z } from 'zod';
import { compileHosts } from '../../domain/allowed-hosts.ts';
import { checkFacts, defineScraper, type ScraperFacts, type WithInput } from '../define-scraper.ts';
import { exitsFor } from '../exit-for.ts';
import { extractPage, type ToParse } from '../extract-page.ts';
import type { HttpScrapeContext, HttpScrapeResult } from '../http/define-http-scraper.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { Identity } from '../http/identity.ts';
import type { OpenClient } from '../http/open-client.ts';
import { clientOpener } from '../http/open-client.ts';
import { Setup, type SetupContext } from '../http/setup.ts';
import { compileSigns, type Signs } from '../page/signs.ts';
import { DEFAULT_LIMITS, parserOf } from '../returned.ts';
import type { ScrapeContext, ScrapeResult, Scraper } from '../scraper.ts';
import { visitSite } from '../visit-site.ts';
import { type BrowserRules, type OpenedTab, openCompanion } from './browser-companion.ts';
import { BrowserIdentity } from './browser-identity.ts';
import { type Login, runLogin } from './browser-login.ts';
import { CookieBridge } from './cookie-bridge.ts';

interface BrowserFacts<Input extends z.ZodType> extends ScraperFacts<Input> {
  /** Other pages are refused, including redirects; what a page loads for itself may come from anywhere. */
  readonly hosts: readonly string[];
  readonly limits?: {
    readonly pageBytes?: number;
    readonly documentBytes?: number;
    /** All that the browser receives for an item, on the wire. */
    readonly visitBytes?: number;
  };
  /**
   * Texts by which this site says that it blocks us, is down, or found nothing: looked for in every page that is read.
   */
  readonly signs?: Signs;
}

interface WithBrowserSetup<State> {
  /**
   * Run before the first item of a process, and again when a site answers 401: logs in with its own page. All items
   * begin with the cookies and the storage that it leaves, and share what it returns, as `state`. Write it above
   * `scrape`.
   */
  setup?(context: BrowserSetupContext): Promise<State>;
}

export interface BrowserSetupContext extends SetupContext, OpenedTab {}

/** What `scrape` gets: the same as a scraper without a browser, and a page. */
export interface BrowserScrapeContext<Input, State = unknown> extends HttpScrapeContext<Input, State>, OpenedTab {}

export interface BrowserScrapeResult<Data> extends HttpScrapeResult<Data> {
  /** A screenshot of your own, from `tab.screenshot()`. Without one, the policy decides. */
  readonly screenshot?: Uint8Array | null | undefined;
}

type Parse<Input extends z.ZodType, Output extends z.ZodType> = (stored: ToParse<z.output<Input>>) => z.input<Output>;

export interface BrowserScraperDefinition<Input extends z.ZodType, Output extends z.ZodType, State = undefined>
  extends BrowserFacts<Input>,
    WithBrowserSetup<State> {
  /** If omitted, the pages are kept unread. */
  readonly output?: Output;
  readonly pageFor?: 'items';
  scrape(context: BrowserScrapeContext<z.output<Input>, NoInfer<State>>): Promise<BrowserScrapeResult<z.input<Output>>>;
  /** Makes the data from the pages, and from nothing else, so that a newer version can be run over stored pages. */
  readonly parse?: Parse<Input, Output>;
}

/** Logs in with a browser, and continues without one: most sites need it for nothing else. */
export interface LoginScraperDefinition<Input extends z.ZodType, Output extends z.ZodType, State>
  extends BrowserFacts<Input> {
  readonly output?: Output;
  /** Only `setup` has a page. */
  readonly pageFor: 'setup';
  setup(context: BrowserSetupContext): Promise<State>;
  scrape(context: HttpScrapeContext<z.output<Input>, NoInfer<State>>): Promise<HttpScrapeResult<z.input<Output>>>;
  readonly parse?: Parse<Input, Output>;
}

/** What a county's largest page needs, with its pictures, and a document. */
const VISIT_BYTES = 256 << 20;

/** A scraper for sites that only work in a browser. It has the same shape, checks and failures as one without. */
export function defineBrowserScraper<Input extends z.ZodType, Output extends z.ZodType, State = undefined>(
  definition: BrowserScraperDefinition<Input, Output, State>,
): Scraper;
export function defineBrowserScraper<Input extends z.ZodType, Output extends z.ZodType, State>(
  definition: LoginScraperDefinition<Input, Output, State>,
): Scraper;
export function defineBrowserScraper<Input extends z.ZodType, State>(
  definition: BrowserScraperDefinition<Input, z.ZodType, State> | LoginScraperDefinition<Input, z.ZodType, State>,
): Scraper {
  const { id, name, version, description, input, hosts, output = null } = definition;
  checkFacts(definition);
  checkPageFor(definition);
  const rules: BrowserRules = {
    signs: compileSigns(definition.signs ?? {}),
    limits: { ...DEFAULT_LIMITS, visitBytes: VISIT_BYTES, ...definition.limits },
    allowsHost: compileHosts(hosts),
  };
  const parser = parserOf<Input>(definition);
  const visitors = new Visitors(clientOpener(rules));
  const login = definition.setup?.bind(definition);
  const setup =
    login &&
    new Setup<Login<State>>(
      id,
      (given, visitor) => runLogin(login, given, visitor, { rules, scraperId: id, ...visitors.of(given.http) }),
      visitors.open,
    );
  const parts = { parser, output, limits: rules.limits };

  return defineScraper({
    ...{ id, name, version, description, input, output, hosts },
    kind: 'browser',
    lane: 'browser',
    metadata: true,
    scrape(context: WithInput<ScrapeContext, Input>): Promise<ScrapeResult> {
      const items = setup?.forItem(context) ?? null;
      if (definition.pageFor === 'setup') {
        return visitSite(context, {
          ...{ ...parts, open: visitors.open, items },
          scrape: (given) => definition.scrape(withState(given, given.state)),
          identity: (state, chosen) => visitors.identity(state, chosen),
        });
      }
      return visitSite<Input, Login<State> | undefined, OpenedTab>(context, {
        ...{ ...parts, open: visitors.open, items },
        scrape: (given) => definition.scrape(withState(given, given.state)),
        identity: (state, chosen) => visitors.identity(state ?? null, chosen),
        accompany: ({ http, log, state }) =>
          openCompanion({
            ...{ rules, log, http, context, tools: context.tools, signal: context.signal, ...visitors.of(http) },
            exits: exitsFor(context),
            storage: state?.storage ?? null,
            suspect: `${context.jobId}/${context.itemId}`,
            job: context.jobId,
            sleep: (ms) => context.sleep(ms),
          }),
      });
    },
    extract: parser && ((stored) => extractPage(parser, stored)),
  });
}

/** Not all scrapers are type-checked. */
function checkPageFor({ id, pageFor, setup }: { id: string; pageFor?: unknown; setup?: unknown }): void {
  if (pageFor === undefined || pageFor === 'items') return;
  if (pageFor !== 'setup') throw new Error(`${id}: pageFor must be 'items' or 'setup'`);
  if (typeof setup !== 'function') throw new Error(`${id}: pageFor: 'setup' needs a setup, which logs in`);
}

/** What the author's `scrape` sees of a login: what its own `setup` returned. */
function withState<State, Given extends { renew(): Promise<Login<State> | undefined> }>(
  given: Given,
  login: Login<State> | undefined,
): Omit<Given, 'state' | 'renew'> & { readonly state: State; renew(): Promise<State> } {
  // Without setup, State is undefined.
  const returned = (of: Login<State> | undefined) => of?.value as State;
  return { ...given, state: returned(login), renew: async () => returned(await given.renew()) };
}

/** The HTTP clients of a scraper, each with what ties it to the browser beside it. */
class Visitors {
  readonly #ties = new WeakMap<HttpClient, { readonly bridge: CookieBridge; readonly identity: BrowserIdentity }>();
  readonly open: OpenClient;

  constructor(open: OpenClient) {
    this.open = (who, context) => {
      const bridge = new CookieBridge(who.tools.web);
      const identity = who.identity instanceof BrowserIdentity ? who.identity : new BrowserIdentity(who.identity);
      const http = open({ ...who, identity, tools: { ...who.tools, web: bridge } }, context);
      this.#ties.set(http, { bridge, identity });
      return http;
    };
  }

  of(http: HttpClient): { readonly bridge: CookieBridge; readonly identity: BrowserIdentity } {
    const ties = this.#ties.get(http);
    if (ties === undefined) throw new Error('an HTTP client that was not opened here');
    return ties;
  }

  /** The identity of the browser that logged in, if one has. */
  identity(login: Login<unknown> | null, chosen: Identity): Identity {
    const identity = new BrowserIdentity(chosen);
    if (login !== null) identity.adopt(login.name);
    return identity;
  }
}
