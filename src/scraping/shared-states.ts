import type { HostGate } from '../ports/host-gate.ts';

export interface SharedStatesDeps {
  /** For requests that belong to no item: an item's own gate frees the item's slot while it waits. */
  readonly gate: HostGate;
  elapsed(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** What `setup` of a scraper made, and which of its runs made it. */
export interface Held<State> {
  readonly state: State;
  readonly generation: number;
}

/** How a state is made, for the item that needs it first. */
export interface Maker<State> {
  make(signal: AbortSignal): Promise<State>;
  /** After this time, the next item gives up a run that has not ended. */
  readonly limitMs: number;
}

/** A state that never worked is not renewed sooner: a wrong password must not become a storm of logins. */
const UNPROVEN_MS = 30_000;

/**
 * States that the items of one process share: a token, a login. Each place (a scraper with one way out) is
 *
 *   empty    no item has asked, the last run failed, or a renewal was asked for
 *   making   one run is under way, and every item that asks waits for it, until its own time is over
 *   ready    every item that asks gets the state
 *
 * A failure is not kept: the items that waited get it, and the next one that asks starts another run. A run that no item
 * waits for any more is ended.
 */
export class SharedStates {
  readonly deps: SharedStatesDeps;
  readonly #places = new WeakMap<object, Map<string, Place>>();
  readonly #closing = new AbortController();

  constructor(deps: SharedStatesDeps) {
    this.deps = deps;
  }

  async get<State>(owner: object, key: string, maker: Maker<State>, signal: AbortSignal): Promise<Held<State>> {
    signal.throwIfAborted();
    const place = this.#place(owner, key);
    // The owner and its key identify one type of state.
    if (place.ready !== null) return place.ready as Held<State>;
    const { elapsed } = this.deps;
    if (place.making !== null && elapsed() - place.making.startedAt > maker.limitMs) {
      place.making.stop.abort('setup took too long');
      place.making = null;
    }
    const making = place.making ?? this.#start(place, maker);
    making.waiters += 1;
    try {
      return (await beforeAbort(making.ready, signal)) as Held<State>;
    } finally {
      making.waiters -= 1;
      if (making.waiters === 0 && place.making === making) {
        place.making = null;
        making.stop.abort('no item waits for setup');
      }
    }
  }

  /** The state after the one that the caller has. Null if that one never worked and is too young to be renewed. */
  async renew<State>(
    owner: object,
    key: string,
    { generation }: Held<unknown>,
    maker: Maker<State>,
    signal: AbortSignal,
  ): Promise<Held<State> | null> {
    const place = this.#place(owner, key);
    const { ready } = place;
    if (ready?.generation === generation) {
      if (!ready.isProven && this.deps.elapsed() - ready.madeAt < UNPROVEN_MS) return null;
      place.ready = null;
    }
    return this.get(owner, key, maker, signal);
  }

  /** A request was answered well with this state. */
  prove(owner: object, key: string, { generation }: Held<unknown>): void {
    const { ready } = this.#place(owner, key);
    if (ready?.generation === generation) ready.isProven = true;
  }

  /** Ends what is under way. */
  close(): void {
    this.#closing.abort('the process ends');
  }

  #start(place: Place, maker: Maker<unknown>): Making {
    const stop = new AbortController();
    const { elapsed } = this.deps;
    place.generations += 1;
    const generation = place.generations;
    const made = maker.make(AbortSignal.any([stop.signal, this.#closing.signal]));
    const ready = made.then((state): Ready => ({ state, generation, madeAt: elapsed(), isProven: false }));
    const making: Making = { ready, startedAt: elapsed(), waiters: 0, stop };
    place.making = making;
    ready.then(
      (state) => {
        if (place.making !== making) return;
        place.making = null;
        place.ready = state;
      },
      () => {
        if (place.making === making) place.making = null;
      },
    );
    return making;
  }

  #place(owner: object, key: string): Place {
    const places = this.#places.get(owner) ?? new Map<string, Place>();
    this.#places.set(owner, places);
    const place = places.get(key) ?? { making: null, ready: null, generations: 0 };
    places.set(key, place);
    return place;
  }
}

interface Place {
  making: Making | null;
  ready: Ready | null;
  generations: number;
}

interface Making {
  readonly ready: Promise<Ready>;
  readonly startedAt: number;
  readonly stop: AbortController;
  waiters: number;
}

interface Ready extends Held<unknown> {
  readonly madeAt: number;
  isProven: boolean;
}

function beforeAbort<T>(wait: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  wait.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  return promise;
}
