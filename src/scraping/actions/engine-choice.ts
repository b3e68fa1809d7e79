import { isDeepStrictEqual } from 'node:util';
import type { FailureType } from '../../domain/failure.ts';
import { planHttp } from '../../domain/recording/http-plan.ts';
import type { Recording } from '../../domain/recording/recording.ts';
import { nameStep } from '../../domain/recording/step-path.ts';
import type { ScrapeLog, ScrapeResult } from '../scraper.ts';
import type { Ran } from './recorded-visit.ts';

/**
 * Which engine carries a recording out. With `auto` a process is
 *
 *   sampling  each item is carried out in a browser and over HTTP, and the data are compared
 *   http      the sample was equal: a browser is only used for items that fail over HTTP
 *   browser   something needs a script, or the data differ: `why` says what
 *
 * The choice is made in each process anew: it costs a few items, and nothing has to be remembered about a site that changes.
 */
type Mode =
  | { readonly kind: 'sampling'; readonly equal: number; readonly looked: number }
  | { readonly kind: 'http'; readonly why: string | null }
  | { readonly kind: 'browser'; readonly why: string | null };

/** Items that must be the same before a browser is left out. */
export const SAMPLE = 5;
/** Items looked at for them: some tell nothing, because the site was down. */
const MAX_LOOKED = 4 * SAMPLE;
/** Items in a row that only a browser could do: the site has changed. */
const MAX_RETURNED = 5;

/** Failures over HTTP that a script may be the reason for. */
const RETURNING: ReadonlySet<FailureType> = new Set(['structure_changed', 'navigation_failed']);

/** Failures that say something about the item, so that both engines must see them. */
const TELLING: ReadonlySet<FailureType> = new Set([
  ...(['no_results', 'not_found', 'structure_changed', 'navigation_failed', 'invalid_output'] as const),
]);

export interface EngineRuns {
  readonly log: ScrapeLog;
  readonly hasBrowser: boolean;
  http(): Promise<Ran>;
  browser(): Promise<Ran>;
}

export interface Chosen {
  readonly ran: Ran;
  readonly result: ScrapeResult;
  /** Why this engine and not the other; null where there was no choice. */
  readonly why: string | null;
}

export class EngineChoice {
  #mode: Mode;
  #returned = 0;
  /** Whether the log says why this engine was chosen. */
  #isTold = false;

  constructor(recording: Pick<Recording, 'engine' | 'steps' | 'sequences'>) {
    this.#mode = firstMode(recording);
  }

  async scrape(runs: EngineRuns): Promise<Chosen> {
    const mode = this.#mode;
    switch (mode.kind) {
      case 'browser':
        if (mode.why !== null) this.#tell(mode, runs.log);
        return chosen(await runs.browser(), mode.why);
      case 'http':
        return this.#overHttp(runs, mode.why);
      case 'sampling':
        if (!runs.hasBrowser) return chosen(await runs.http(), 'there is no browser here');
        return this.#sample(runs);
    }
  }

  async #sample(runs: EngineRuns): Promise<Chosen> {
    const inBrowser = await runs.browser();
    if (!isTelling(inBrowser.result)) return chosen(inBrowser, null);
    const overHttp = await runs.http();
    const mode = this.#mode;
    // Another item may have decided meanwhile.
    if (mode.kind !== 'sampling') return chosen(inBrowser, 'part of the sample');
    const difference = differenceBetween(inBrowser, overHttp);
    if (difference !== null && (isTelling(overHttp.result) || overHttp.needsBrowser !== null)) {
      this.#decide({ kind: 'browser', why: difference }, runs.log);
    } else {
      const equal = mode.equal + (difference === null && inBrowser.result.kind === 'scraped' ? 1 : 0);
      const looked = mode.looked + 1;
      if (equal >= SAMPLE)
        this.#decide({ kind: 'http', why: `${SAMPLE} items had the same data in a browser and over HTTP` }, runs.log);
      else if (looked >= MAX_LOOKED) {
        this.#decide(
          { kind: 'browser', why: `of ${looked} items only ${equal} could be compared with HTTP` },
          runs.log,
        );
      } else this.#mode = { kind: 'sampling', equal, looked };
    }
    return chosen(inBrowser, difference ?? 'part of the sample');
  }

  async #overHttp(runs: EngineRuns, why: string | null): Promise<Chosen> {
    const ran = await runs.http();
    // Without a proof that HTTP is enough there is no browser to go back to: the recording says http.
    const isGood = ran.result.kind !== 'failed' || !RETURNING.has(ran.result.failure.type);
    if (isGood || why === null || !runs.hasBrowser) {
      if (isGood) this.#returned = 0;
      return chosen(ran, why);
    }
    const said = ran.result.kind === 'failed' ? ran.result.failure.message : '';
    const again = await runs.browser();
    if (again.result.kind === 'scraped') {
      this.#returned += 1;
      if (this.#returned >= MAX_RETURNED) {
        this.#decide(
          { kind: 'browser', why: `${MAX_RETURNED} items in a row failed over HTTP, and not in a browser: ${said}` },
          runs.log,
        );
      }
    }
    return chosen(again, `over HTTP: ${said}`);
  }

  #decide(mode: Extract<Mode, { why: string | null }>, log: ScrapeLog): void {
    this.#mode = mode;
    this.#isTold = false;
    this.#tell(mode, log);
  }

  #tell({ kind: engine, why }: Extract<Mode, { why: string | null }>, log: ScrapeLog): void {
    if (this.#isTold) return;
    this.#isTold = true;
    log.info({ engine, why }, 'the engine of the recording was chosen');
  }
}

function firstMode(recording: Pick<Recording, 'engine' | 'steps' | 'sequences'>): Mode {
  if (recording.engine !== 'auto') return { kind: recording.engine, why: null };
  const [obstacle] = planHttp(recording).obstacles;
  if (obstacle === undefined) return { kind: 'sampling', equal: 0, looked: 0 };
  return { kind: 'browser', why: `${nameStep(obstacle.path, obstacle.type)} needs a browser: ${obstacle.reason}` };
}

function chosen(ran: Ran, why: string | null): Chosen {
  return { ran, result: ran.result, why };
}

/** Whether the result is about the item, and not about the way there. */
function isTelling(result: ScrapeResult): boolean {
  return result.kind === 'scraped' || (result.kind === 'failed' && TELLING.has(result.failure.type));
}

/** What is not the same over HTTP; null if nothing is. */
function differenceBetween({ result: browser }: Ran, { result: http }: Ran): string | null {
  if (http.kind === 'failed') {
    if (browser.kind === 'failed' && browser.failure.type === http.failure.type) return null;
    return `over HTTP: ${http.failure.message}`;
  }
  if (browser.kind !== 'scraped' || http.kind !== 'scraped')
    return `over HTTP the item is ${http.kind}, in a browser ${browser.kind}`;
  const [one, other] = [dataOf(browser), dataOf(http)];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  const differing = [...names].filter((name) => !isDeepStrictEqual(one[name], other[name]));
  if (differing.length > 0) return `these fields differ over HTTP: ${differing.slice(0, 10).join(', ')}`;
  return hasDocument(browser) === hasDocument(http) ? null : 'only one of the engines got the document';
}

type Scraped = Extract<ScrapeResult, { kind: 'scraped' }>;

function dataOf({ artifacts }: Scraped): Record<string, unknown> {
  const bytes = artifacts.find(({ kind }) => kind === 'data')?.bytes;
  return bytes instanceof Uint8Array ? JSON.parse(Buffer.from(bytes).toString()) : {};
}

function hasDocument({ artifacts }: Scraped): boolean {
  return artifacts.some(({ kind }) => kind === 'document');
}
