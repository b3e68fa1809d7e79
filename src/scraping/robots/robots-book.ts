import type { Failure } from '../../domain/failure.ts';
import { readRobotsAnswer } from '../../domain/robots.ts';
import type { Web } from '../../egress/web.ts';
import type { Clock } from '../../ports/clock.ts';
import type { HostGate } from '../../ports/host-gate.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import type { ScrapeLog } from '../scraper.ts';
import { Disallowed } from './disallowed.ts';
import { fetchRobots, type RobotsVisitor } from './fetch-robots.ts';
import { parseRobots, type RobotsRules } from './parse-robots.ts';
import type { RobotsCheck } from './robots-check.ts';

interface RobotsBookDeps {
  readonly web: Web;
  /** The gate of the process: a robots.txt belongs to no item. */
  readonly gate: HostGate & { setMinDelay(host: string, ms: number): void };
  readonly clock: Pick<Clock, 'now' | 'elapsed'>;
  readonly log: Pick<ScrapeLog, 'debug' | 'info'>;
  /** Beyond it, the files that were loaded first are forgotten, and loaded again when they are needed. */
  readonly maxFiles?: number;
}

const MAX_FILES = 1000;
const MAX_CHARACTERS = 32 << 20;

/**
 * The robots.txt files of the sites that the items of this process visit. A file is
 *
 *   unknown   no item has asked for it, it was forgotten, or it could not be loaded because of a proxy
 *   loading   one request is under way, and every item that asks waits for it, until its own time is over
 *   known     until it expires; the next item that asks then loads it again
 *
 * A file that has expired and cannot be loaded again stays in force, as RFC 9309 allows.
 */
export class RobotsBook implements RobotsCheck {
  readonly #deps: RobotsBookDeps;
  /** In the order in which they were loaded. */
  readonly #known = new Map<string, Known>();
  readonly #loading = new Map<string, Promise<Known>>();
  readonly #closing = new AbortController();
  #characters = 0;

  constructor(deps: RobotsBookDeps) {
    this.#deps = deps;
  }

  async check(url: string, visitor: RobotsVisitor, signal: AbortSignal): Promise<void> {
    const { origin, host, pathname } = new URL(url);
    if (pathname === '/robots.txt') return;
    const { clock, log } = this.#deps;
    // Keyed by the way out as well: a failing proxy says nothing about the site.
    const key = `${visitor.exit.dialer} ${origin}`;
    let file = this.#known.get(key);
    if (file === undefined || clock.elapsed() >= file.expiresAt) {
      file = await beforeAbort(this.#load(key, { origin, host }, visitor), signal);
    }
    if (file.failure !== null) {
      const retryAfterMs = Math.max(0, Math.ceil(file.expiresAt - clock.elapsed()));
      throw new ScrapeFailure({ ...file.failure, retryAfterMs });
    }
    const verdict = file.rules?.judge(url) ?? { kind: 'allowed' };
    if (verdict.kind === 'allowed') return;
    const { line } = verdict;
    // Once for each file: a job may have a million such items.
    if (!file.isLogged) log.info({ url, line }, `${origin}/robots.txt disallows a page: such items are skipped`);
    file.isLogged = true;
    throw new Disallowed(url, line);
  }

  /** Ends what is under way. */
  close(): void {
    this.#closing.abort('the process ends');
  }

  #load(key: string, site: Site, visitor: RobotsVisitor): Promise<Known> {
    const underWay = this.#loading.get(key);
    if (underWay !== undefined) return underWay;
    const loading = this.#fetch(key, site, visitor).finally(() => this.#loading.delete(key));
    // The items that asked may all have ended by then.
    loading.catch(() => {});
    this.#loading.set(key, loading);
    return loading;
  }

  async #fetch(key: string, { origin, host }: Site, visitor: RobotsVisitor): Promise<Known> {
    const { web, gate, clock, log } = this.#deps;
    const deps = { web, gate, now: () => clock.now(), signal: this.#closing.signal };
    const { answer, text } = await fetchRobots(origin, visitor, deps);
    const meaning = readRobotsAnswer(answer, origin);
    const expiresAt = clock.elapsed() + meaning.forMs;
    const before = this.#known.get(key);
    const fresh = { host, expiresAt, isLogged: false };
    let file: Known;
    if (meaning.kind === 'rules') file = { ...fresh, rules: parseRobots(text, origin), failure: null };
    else if (meaning.kind === 'none') file = { ...fresh, rules: null, failure: null };
    else if (before?.failure === null) file = { ...before, expiresAt };
    else file = { ...fresh, rules: null, failure: meaning.failure };
    const delay = file.rules?.crawlDelayMs ?? 0;
    log.debug({ origin, meaning: meaning.kind, crawl_delay_ms: delay, for_ms: meaning.forMs }, 'robots.txt loaded');
    if (meaning.forMs > 0) this.#keep(key, file);
    return file;
  }

  #keep(key: string, file: Known): void {
    this.#forget(key);
    this.#known.set(key, file);
    this.#characters += weightOf(file);
    this.#setDelay(file.host);
    const { maxFiles = MAX_FILES } = this.#deps;
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= maxFiles && this.#characters <= MAX_CHARACTERS) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const file = this.#known.get(key);
    if (file === undefined) return;
    this.#known.delete(key);
    this.#characters -= weightOf(file);
    this.#setDelay(file.host);
  }

  /** To the gate, http and https are the same host, but their files may differ: the longest delay applies. */
  #setDelay(host: string): void {
    let longest = 0;
    for (const file of this.#known.values()) {
      if (file.host === host) longest = Math.max(longest, file.rules?.crawlDelayMs ?? 0);
    }
    this.#deps.gate.setMinDelay(host, longest);
  }
}

interface Site {
  readonly origin: string;
  /** As the gate knows it. */
  readonly host: string;
}

interface Known {
  readonly host: string;
  /** By the clock's `elapsed()`. */
  readonly expiresAt: number;
  /** Null if there is no file, or none that can be read. */
  readonly rules: RobotsRules | null;
  /** Why nothing may be requested; null if the rules say what may. */
  readonly failure: Failure | null;
  /** Whether it was logged that it disallows something. */
  isLogged: boolean;
}

function weightOf({ rules }: Known): number {
  return rules?.weight ?? 0;
}

async function beforeAbort<T>(wait: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([wait, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
