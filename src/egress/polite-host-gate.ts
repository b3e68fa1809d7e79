import type { HostAnswer } from '../domain/host-outage.ts';
import type { HostLimits } from '../domain/host-settings.ts';
import {
  type HostTrouble,
  NO_TROUBLE,
  type TroubleRate,
  troubleRate,
  withRequest,
  withTrouble,
} from '../domain/host-trouble.ts';
import { type HostState, isForgettable, type Politeness, waitToEnter } from '../domain/politeness.ts';
import type { Clock } from '../ports/clock.ts';
import { type GatePause, HostHeld, type RetryAnswer, type WorkerGate } from '../ports/host-gate.ts';
import { HostHealth } from './host-health.ts';

export interface HostGateSettings extends Partial<Politeness> {
  readonly clock: Clock;
  /** For hosts with settings of their own, by `host` or `host:port`. */
  readonly hosts?: Readonly<Record<string, Partial<Politeness>>>;
  /** Called for every pause that begins here, so that other processes can learn of it. */
  readonly onHold?: (host: string, ms: number, why: string) => void;
}

/** Browsers open six connections to a host, and a county's site can serve a few browsers at once. */
const DEFAULTS: Politeness = { maxConcurrent: 16, minDelayMs: 0 };

/**
 * Politeness of one process. A host is
 *
 *   unknown   no caller is inside or waits, and nothing that happened there matters any more
 *   open      a caller enters at once
 *   busy      callers wait, first come first served: until another leaves, or until a time for which one timer is set
 *
 * Nothing is polled: a caller that leaves lets the next one in, and so does the timer. Entry times only ever become later,
 * so a timer that is set never fires too late; a pause that is lifted ends its timer, and so does another delay.
 */
export class PoliteHostGate implements WorkerGate {
  readonly #clock: Clock;
  readonly #onHold: (host: string, ms: number, why: string) => void;
  readonly #usual: Politeness;
  readonly #special = new Map<string, Politeness>();
  /** Delays that robots.txt files ask for. */
  readonly #asked = new Map<string, number>();
  /** What operators have set. */
  readonly #limits = new Map<string, HostLimits>();
  readonly #hosts = new Map<string, Host>();
  #sweepAt = SWEEP_FROM;

  constructor({ clock, hosts = {}, onHold = () => {}, ...usual }: HostGateSettings) {
    this.#clock = clock;
    this.#onHold = onHold;
    this.#usual = { ...DEFAULTS, ...usual };
    for (const [host, wish] of Object.entries(hosts)) this.#special.set(host, { ...this.#usual, ...wish });
  }

  /** How many hosts it keeps a state for. */
  get known(): number {
    return this.#hosts.size;
  }

  enter(name: string, patienceMs: number, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const host = this.#host(name);
    const heldMs = host.heldUntil - this.#clock.elapsed();
    if (heldMs > patienceMs) return Promise.reject(new HostHeld(name, heldMs, host.heldWhy));
    if (host.waiting.size === 0 && this.#waitAt(host) === 0) {
      return Promise.resolve(this.#admit(host));
    }
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiter: Waiter = {
      patienceMs,
      admit: () => {
        signal.removeEventListener('abort', give);
        resolve(this.#admit(host));
      },
      turnAway: (ms) => {
        signal.removeEventListener('abort', give);
        leave();
        reject(new HostHeld(name, ms, host.heldWhy));
      },
    };
    const leave = () => {
      host.waiting.delete(waiter);
      // No waiter is left to wake, and a timer would keep the process alive.
      if (host.waiting.size === 0) host.timer?.abort(NO_WAITERS);
    };
    const give = () => {
      leave();
      reject(signal.reason);
    };
    signal.addEventListener('abort', give, { once: true });
    host.waiting.add(waiter);
    this.#letIn(host);
    return promise;
  }

  isOpen(name: string): boolean {
    const host = this.#hosts.get(name);
    if (host === undefined) return true;
    return host.waiting.size === 0 && this.#waitAt(host) === 0;
  }

  noteTrouble(name: string): TroubleRate {
    const host = this.#host(name);
    host.trouble = withTrouble(host.trouble);
    return troubleRate(host.trouble);
  }

  noteAnswer(name: string, answer: HostAnswer, why: string): void {
    const host = this.#host(name);
    const { health } = host;
    const now = this.#clock.elapsed();
    if (answer === 'there' || answer === 'refused') {
      if (answer === 'there') health.isThere();
      else health.refused(now);
      return;
    }
    if (answer === 'good') {
      const wasAway = health.isAway;
      health.good(now);
      if (wasAway) this.resume(name);
      return;
    }
    // Requests that were on their way when the pause began say nothing new.
    if (health.isAway && !host.isProbed) return;
    host.isProbed = false;
    const pauseMs = health.away(now, this.#clock.chance());
    if (pauseMs !== null) this.hold(name, pauseMs, why);
  }

  pauseOf(name: string): GatePause | null {
    const host = this.#hosts.get(name);
    const ms = (host?.heldUntil ?? 0) - this.#clock.elapsed();
    return host === undefined || ms <= 0 ? null : { ms, reason: host.heldWhy, isAway: host.health.isAway };
  }

  takeRetry(name: string): RetryAnswer {
    return this.#host(name).health.takeRetry();
  }

  hold(name: string, ms: number, why = 'the host asked us to wait'): void {
    // This is also false for NaN.
    if (!(ms > 0)) return;
    this.#pause(this.#host(name), ms, why);
    this.#onHold(name, ms, why);
  }

  /** The same, for a pause that another process has reported, or an operator has set. */
  keepAway(name: string, ms: number, why: string): void {
    if (!(ms > 0)) return;
    const host = this.#host(name);
    host.health.isThere();
    this.#pause(host, ms, why);
  }

  #pause(host: Host, ms: number, why: string): void {
    const until = this.#clock.elapsed() + ms;
    if (until > host.heldUntil) host.heldWhy = why;
    host.heldUntil = Math.max(host.heldUntil, until);
    for (const waiter of [...host.waiting]) if (waiter.patienceMs < ms) waiter.turnAway(ms);
  }

  /** The host's pause was lifted: it ends now. */
  resume(name: string): void {
    const host = this.#hosts.get(name);
    if (host === undefined) return;
    host.heldUntil = 0;
    // It was set for the end of the pause. Waiting callers enter when it ends.
    host.timer?.abort(LIFTED);
  }

  /**
   * The site asks for this much time between two requests; 0 takes it back. Where our own settings are slower, they hold.
   * The caller takes back what it no longer needs: a delay is kept as long as that, however rarely the host is visited.
   */
  setMinDelay(name: string, ms: number): void {
    if ((this.#asked.get(name) ?? 0) === ms) return;
    if (ms > 0) this.#asked.set(name, ms);
    else this.#asked.delete(name);
    this.#applyTo(name);
  }

  /** What an operator has set for the host takes the place of our own settings; null takes it back. */
  setLimits(name: string, limits: HostLimits | null): void {
    if (limits === null) this.#limits.delete(name);
    else this.#limits.set(name, limits);
    this.#applyTo(name);
  }

  #applyTo(name: string): void {
    const host = this.#hosts.get(name);
    if (host === undefined) return;
    host.politeness = this.#politenessTo(name);
    // It may be set for a later time than is right now. Waiting callers get another one when it ends.
    host.timer?.abort(OTHER_DELAY);
    // More may be allowed inside than before.
    this.#letIn(host);
  }

  #politenessTo(name: string): Politeness {
    const usual = this.#special.get(name) ?? this.#usual;
    const set = this.#limits.get(name);
    const own = set === undefined ? usual : limited(usual, set);
    const asked = this.#asked.get(name) ?? 0;
    return asked > own.minDelayMs ? { ...own, minDelayMs: asked } : own;
  }

  /** When the next caller may enter, as `waitToEnter` says: at the pace the host bears, and one at a time while it is away. */
  #waitAt(host: Host): number | 'until-one-leaves' {
    const { health, politeness } = host;
    const now = this.#clock.elapsed();
    if (health.isUsual) return waitToEnter(host, politeness, now);
    const minDelayMs = Math.max(politeness.minDelayMs, health.spacingMs());
    return waitToEnter(host, { maxConcurrent: health.isAway ? 1 : politeness.maxConcurrent, minDelayMs }, now);
  }

  #admit(host: Host): () => void {
    const { health } = host;
    host.inside += 1;
    host.trouble = withRequest(host.trouble);
    const enteredAt = this.#clock.elapsed();
    host.startedAt = enteredAt;
    health.entered(enteredAt);
    if (health.isAway) host.isProbed = true;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      host.inside -= 1;
      health.left(this.#clock.elapsed() - enteredAt);
      // What the probe's answer means is said in a moment, and until then no other may follow it.
      if (health.isAway) host.heldUntil = Math.max(host.heldUntil, this.#clock.elapsed() + VERDICT_MS);
      if (host.waiting.size > 0) this.#letIn(host);
    };
  }

  #letIn(host: Host): void {
    for (const waiter of host.waiting) {
      const wait = this.#waitAt(host);
      if (wait === 'until-one-leaves') return;
      if (wait > 0) {
        this.#wakeAfter(wait, host);
        return;
      }
      host.waiting.delete(waiter);
      waiter.admit();
    }
  }

  #wakeAfter(ms: number, host: Host): void {
    if (host.timer !== null) return;
    const timer = new AbortController();
    host.timer = timer;
    void this.#clock.sleep(ms, timer.signal).then(() => {
      host.timer = null;
      // A caller may have come since the timer was cancelled.
      this.#letIn(host);
    });
  }

  #host(name: string): Host {
    const known = this.#hosts.get(name);
    if (known !== undefined) return known;
    if (this.#hosts.size >= this.#sweepAt) this.#sweep();
    const politeness = this.#politenessTo(name);
    const host: Host = {
      ...{ politeness, inside: 0, startedAt: null, heldUntil: 0, heldWhy: '', trouble: NO_TROUBLE, isProbed: false },
      ...{ waiting: new Set(), timer: null, health: new HostHealth(this.#clock.elapsed()) },
    };
    this.#hosts.set(name, host);
    return host;
  }

  /** Rarely enough to cost little per host, often enough to keep memory in proportion to the hosts in use. */
  #sweep(): void {
    const now = this.#clock.elapsed();
    for (const [name, host] of this.#hosts) {
      const isForgotten = host.waiting.size === 0 && host.health.isUsual && isForgettable(host, host.politeness, now);
      if (isForgotten) this.#hosts.delete(name);
    }
    this.#sweepAt = Math.max(SWEEP_FROM, this.#hosts.size * 2);
  }
}

/** Aborting without a reason would create an exception with a stack trace. */
const NO_WAITERS = 'no caller waits';
const LIFTED = 'the pause was lifted';
const OTHER_DELAY = 'the delay is another one';

const SWEEP_FROM = 1000;

/** Longer than it takes to read a page. */
const VERDICT_MS = 2000;

interface Host extends HostState {
  politeness: Politeness;
  inside: number;
  startedAt: number | null;
  heldUntil: number;
  /** The reason of the pause in force, or of the last one. */
  heldWhy: string;
  trouble: HostTrouble;
  readonly health: HostHealth;
  /** Of a host that is away: whether a request went there since its pause. */
  isProbed: boolean;
  /** In the order they came. */
  readonly waiting: Set<Waiter>;
  /** Set while callers wait for a time. */
  timer: AbortController | null;
}

function limited(usual: Politeness, { maxConcurrent, minDelayMs, requestsPerSecond }: HostLimits): Politeness {
  const delayMs = minDelayMs ?? usual.minDelayMs;
  return {
    maxConcurrent: maxConcurrent ?? usual.maxConcurrent,
    minDelayMs: requestsPerSecond === null ? delayMs : Math.max(delayMs, 1000 / requestsPerSecond),
  };
}

interface Waiter {
  readonly patienceMs: number;
  admit(): void;
  turnAway(heldMs: number): void;
}
