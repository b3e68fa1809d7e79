import { failure } from '../../domain/failure.ts';
import type { Exit } from '../../egress/web.ts';
import { exitIn } from '../exit-for.ts';
import { findSecret } from '../find-secret.ts';
import { Disallowed } from '../robots/disallowed.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import type { ScrapeContext, ScrapeLog, ScrapeTools } from '../scraper.ts';
import type { Held, Maker } from '../shared-states.ts';
import { thrownFailure } from '../thrown-failure.ts';
import { VisitCookies } from './cookies.ts';
import type { HttpClient } from './http-client.ts';
import { chooseIdentity, type Identity } from './identity.ts';
import type { OpenClient } from './open-client.ts';
import { RequestLog } from './request-log.ts';

export type ItemContext = Omit<ScrapeContext, 'input'>;

/** What `setup` gets: its own visitor, which belongs to no item. */
export interface SetupContext {
  readonly http: HttpClient;
  readonly log: ScrapeLog;
  readonly signal: AbortSignal;
  /** As in `scrape`. */
  secret(name: string): string;
  sleep(ms: number): Promise<void>;
}

/** The scraper and the item that `setup` is run for. */
export interface SetupVisitor {
  readonly item: ItemContext;
  readonly exit: Exit;
  readonly tools: ScrapeTools;
}

/** What the items of a process share: what `setup` returned, and the cookies that it received on the way. */
interface Shared<State> {
  readonly value: State;
  readonly cookies: VisitCookies;
}

type RunSetup<State> = (context: SetupContext, visitor: SetupVisitor) => Promise<State>;

/**
 * Runs `setup` of a scraper when its first item needs it, and again when a site no longer accepts the result. There is
 * one state for each way out (the kind of proxy and its place), robots.txt policy and identity: a visitor that a site
 * has blocked must not be recognised by the login of the previous one.
 */
export class Setup<State> {
  readonly #scraperId: string;
  readonly #setup: RunSetup<State>;
  readonly #open: OpenClient;

  constructor(scraperId: string, setup: RunSetup<State>, open: OpenClient) {
    this.#scraperId = scraperId;
    this.#setup = setup;
    this.#open = open;
  }

  /** For one try at an item. */
  forItem(context: ItemContext): ItemSetup<State> {
    const { tools, policy, identity, signal } = context;
    const exit = exitIn(context, `${this.#scraperId}/setup/${identity}`);
    const place = exit.geo === undefined ? '' : JSON.stringify(exit.geo);
    // An item that ignores robots.txt must not be skipped because one that respects it requested the state.
    const key = `${exit.dialer} ${identity} ${place} ${policy.robots}`;
    const maker: Maker<Shared<State>> = {
      limitMs: policy.timeouts.item_timeout_seconds * 1000,
      make: (cut) => this.#run(context, exit, cut),
    };
    let held: Held<Shared<State>> | null = null;
    return {
      identity: this.#identity(identity),
      get: async () => {
        held = await tools.states.get(this, key, maker, signal);
        return held.state.value;
      },
      renew: async () => {
        const renewed =
          held === null
            ? await tools.states.get(this, key, maker, signal)
            : await tools.states.renew(this, key, held, maker, signal);
        if (renewed === null) throw new ScrapeFailure(failure('blocked', NEVER_GOOD));
        held = renewed;
        return held.state.value;
      },
      prove: () => {
        if (held !== null) tools.states.prove(this, key, held);
      },
      cookies: () => held?.state.cookies.copy() ?? null,
    };
  }

  #identity(identity: number): Identity {
    return chooseIdentity({ jobId: this.#scraperId, itemId: 'setup', identity });
  }

  async #run(context: ItemContext, exit: Exit, signal: AbortSignal): Promise<Shared<State>> {
    const { tools, identity } = context;
    const { gate, sleep } = tools.states.deps;
    const about = { scraper: this.#scraperId, during: 'setup' };
    const log: ScrapeLog = {
      debug: (fields, message) => tools.log.debug({ ...about, ...fields }, message),
      info: (fields, message) => tools.log.info({ ...about, ...fields }, message),
      warn: (fields, message) => tools.log.warn({ ...about, ...fields }, message),
    };
    const wait = async (ms: number) => {
      await sleep(ms, signal);
      signal.throwIfAborted();
    };
    const lent = { ...tools, gate, log };
    const http = this.#open(
      {
        tools: lent,
        identity: this.#identity(identity),
        exits: () => exit,
        signal,
        sleep: wait,
        cookies: new VisitCookies(),
        requests: new RequestLog(),
        // It belongs to no item that could start over.
        startsOver: () => false,
      },
      context,
    );
    try {
      const secret = (name: string) => findSecret(tools.secrets, name);
      const value = await this.#setup({ http, log, signal, secret, sleep: wait }, { item: context, exit, tools: lent });
      log.debug({ requests: http.requests.count }, 'setup done');
      return { value, cookies: http.cookies };
    } catch (error) {
      if (error instanceof Disallowed) throw error;
      const what = thrownFailure(error);
      throw new ScrapeFailure({ ...what, message: failure(what.type, `setup: ${what.message}`).message });
    }
  }
}

/** What one try at an item does with the shared state. */
export interface ItemSetup<State> {
  /** The identity that logged in: a site may not accept a login from another browser. */
  readonly identity: Identity;
  get(): Promise<State>;
  /** Fails as `blocked` if the current state never worked and is young: another one would be no better. */
  renew(): Promise<State>;
  /** The current state works. */
  prove(): void;
  /** Cookies of the current state; null for none. */
  cookies(): VisitCookies | null;
}

const NEVER_GOOD = 'the site does not accept the result of setup, which has only just run';
