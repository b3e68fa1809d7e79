import { KeyTaken } from '../../src/ports/result-store.ts';
import type { Dice } from './dice.ts';
import type { FaultPlan } from './fault-plan.ts';
import type { SimProcess } from './sim-process.ts';
import type { Timeline } from './timeline.ts';
import type { Trace } from './trace.ts';

/** An error that the simulation made. Any other error is a bug. */
export class SimFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SimFault';
  }
}

export interface Call<T> {
  readonly name: string;
  /** Arguments in a few words, for the trace. */
  readonly said: string;
  /** What the callee does. It runs in a step of its own, so that its effect is checked before anything else happens. */
  readonly run: () => Promise<T>;
  readonly show: (answer: T) => string;
  /** Called when the callee has answered, whether or not the caller ever hears of it. */
  readonly applied?: (answer: T) => void;
  /** Trouble that the callee is in at this moment; the call then has no effect. */
  readonly trouble?: () => Error | null;
  /** Absent for a service that is always there. */
  readonly callee?: Callee;
  readonly slowMs?: () => number;
  /** The call is never slow on its way. */
  readonly isPrompt?: boolean;
}

/** Who is called: a process that may be down, or stalled. What was on its way to an earlier life of it is lost. */
export interface Callee {
  readonly isAway: boolean;
  readonly life: number;
  readonly owner: SimProcess | null;
}

export interface NetworkParts {
  readonly timeline: Timeline;
  readonly dice: Dice;
  readonly faults: FaultPlan;
  readonly trace: Trace;
  readonly latencyMs: { readonly min: number; readonly max: number };
}

/**
 * Calls between processes: a way there, an effect, a way back. Either way may be slow or fail. A caller whose call got
 * lost sees an error after a while, or its transport repeats the call without its knowledge.
 */
export class Network {
  readonly #parts: NetworkParts;

  constructor(parts: NetworkParts) {
    this.#parts = parts;
  }

  call<T>(caller: SimProcess, call: Call<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#say(caller, `> ${call.name} ${call.said}`);
    this.#send(caller, call, { resolve, reject }, this.#fate(caller));
    return promise;
  }

  #send<T>(caller: SimProcess, call: Call<T>, waiting: Waiting<T>, fate: Fate): void {
    const { timeline, dice } = this.#parts;
    const slow = (fate === 'slow' && !call.isPrompt ? dice.logBetween(200, 20_000) : 0) + (call.slowMs?.() ?? 0);
    const { callee } = call;
    const life = callee?.life;
    const arrive = () => {
      if (callee?.isAway || callee?.life !== life) this.#findAway(caller, call, waiting);
      else if (callee?.owner?.isStalled) callee.owner.whenAwake(arrive);
      else if (fate === 'request-lost') this.#fail(caller, call, waiting);
      else if (fate === 'request-repeated') this.#repeat(caller, call, waiting);
      else void this.#arrive(caller, call, waiting, fate);
    };
    const onTheWayMs = this.#latency() + slow;
    if (fate === 'slow') this.#wrong(caller, call, onTheWayMs);
    timeline.after(onTheWayMs, arrive);
  }

  async #arrive<T>(caller: SimProcess, call: Call<T>, waiting: Waiting<T>, fate: Fate): Promise<void> {
    const trouble = call.trouble?.() ?? null;
    if (trouble !== null) {
      this.#answer(caller, call, `! ${trouble.message}`, () => waiting.reject(trouble));
      return;
    }
    let answer: T;
    try {
      answer = await call.run();
    } catch (error) {
      // A taken key is an answer like any other: a worker has no excuse to lose its lease over it.
      if (!(error instanceof KeyTaken)) this.#wrong(caller, call);
      this.#answer(caller, call, `! ${String(error)}`, () => waiting.reject(error));
      return;
    }
    call.applied?.(answer);
    this.#parts.trace.add(this.#parts.timeline.now, caller.name, `= ${call.name} ${call.show(answer)}`);
    if (fate === 'reply-lost') this.#fail(caller, call, waiting);
    else if (fate === 'reply-lost-repeated') this.#repeat(caller, call, waiting);
    else this.#answer(caller, call, '', () => waiting.resolve(answer));
  }

  #answer<T>(caller: SimProcess, call: Call<T>, what: string, settle: () => void): void {
    caller.later(this.#latency(), () => {
      this.#say(caller, `< ${call.name} ${what}`);
      settle();
    });
  }

  /** The caller learns only that it got no answer. */
  #fail<T>(caller: SimProcess, call: Call<T>, waiting: Waiting<T>): void {
    this.#wrong(caller, call);
    const afterMs = this.#parts.dice.logBetween(1, 2000);
    this.#say(caller, `x ${call.name} is lost`);
    caller.later(afterMs, () => waiting.reject(new SimFault(`${call.name}: no answer`)));
  }

  #repeat<T>(caller: SimProcess, call: Call<T>, waiting: Waiting<T>): void {
    const afterMs = this.#parts.dice.logBetween(1, 6000);
    this.#say(caller, `x ${call.name} is repeated`);
    // Its arguments are old when it arrives: a lease that is asked for may have run out by then.
    this.#wrong(caller, call, afterMs + this.#parts.latencyMs.max);
    caller.later(afterMs, () => this.#send(caller, call, waiting, 'ok'));
  }

  /** A full disk does not count: the engine must give time to those that could not be heard meanwhile. */
  #wrong<T>(caller: SimProcess, call: Call<T>, ms = 0): void {
    if (URGENT.has(call.name)) caller.wrong(ms);
  }

  #findAway<T>(caller: SimProcess, call: Call<T>, waiting: Waiting<T>): void {
    if (!caller.hasPatientTransport || this.#parts.dice.happens(0.5)) this.#fail(caller, call, waiting);
    else this.#repeat(caller, call, waiting);
  }

  #fate(caller: SimProcess): Fate {
    const { faults } = this.#parts;
    for (const kind of ['request-lost', 'reply-lost'] as const) if (faults.strikes(kind, 0.3)) return kind;
    if (caller.hasPatientTransport) {
      for (const kind of ['request-repeated', 'reply-lost-repeated'] as const)
        if (faults.strikes(kind, 0.6)) return kind;
    }
    return faults.strikes('slow-call', 0.3) ? 'slow' : 'ok';
  }

  #latency(): number {
    const { min, max } = this.#parts.latencyMs;
    return max === 0 ? 0 : this.#parts.dice.between(min, max);
  }

  #say(who: SimProcess, what: string): void {
    this.#parts.trace.add(this.#parts.timeline.now, who.name, what);
  }
}

/** Calls that make their caller late by failing or being slow: it may lose its lease, or do too late what it must do soon. */
const URGENT: ReadonlySet<string> = new Set(['claim', 'renew', 'recall']);

type Fate = 'ok' | 'slow' | 'request-lost' | 'request-repeated' | 'reply-lost' | 'reply-lost-repeated';

interface Waiting<T> {
  readonly resolve: (answer: T) => void;
  readonly reject: (error: unknown) => void;
}
