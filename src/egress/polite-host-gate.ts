import type { HostAnswer } from '../domain/host-outage.ts';
import type { HostLimits } from '../domain/host-settings.ts';
import { type TroubleRate, troubleRate, withRequest, withTrouble } from '../domain/host-trouble.ts';
import type { JobLimits } from '../domain/job-limits.ts';
import { type LineLimits, linePace, NO_LIMITS } from '../domain/line-limits.ts';
import { hostLine, jobItemsLine, jobRequestsLine } from '../domain/line-name.ts';
import type { Clock } from '../ports/clock.ts';
import { type GatePause, HostHeld, type RetryAnswer, type WorkerGate } from '../ports/host-gate.ts';
import { addWaiter, dropWaiter, giveLine, type Host, newHost, pauseHost, readyIn, type Waiter } from './host-queue.ts';
import { LimitsByHost } from './limits-by-host.ts';
import type { Line, Readiness } from './line.ts';
import { type LineMaker, lineMaker, type SharedLimits } from './line-maker.ts';

export interface HostGateSettings extends Partial<LineLimits> {
  readonly clock: Clock;
  /** For hosts with their own settings, by `host` or `host:port`. */
  readonly hosts?: Readonly<Record<string, Partial<LineLimits>>>;
  /** Called for every pause that begins here, so that other processes can learn of it. */
  readonly onHold?: (host: string, ms: number, why: string) => void;
  /** Absent for a process that shares its hosts with no other. */
  readonly shared?: SharedLimits;
}

/**
 * Politeness of one process, within the limits that it keeps together with all others. A host is
 *
 *   unknown   no caller is inside or waits, and nothing that happened there matters any more
 *   open      a caller enters at once
 *   busy      callers wait, those of a job first come first served: until another leaves, until a time for which one timer
 *             is set, or until more was reserved
 *
 * Nothing is polled: a caller that leaves lets the next one in, and so do the timer and an answer to a reservation. A caller
 * enters when the host and its job's own limit both let it, and uses both at the same moment.
 */
export class PoliteHostGate implements WorkerGate {
  readonly #clock: Clock;
  readonly #onHold: (host: string, ms: number, why: string) => void;
  readonly #limits: LimitsByHost;
  readonly #hosts = new Map<string, Host>();
  readonly #jobs = new Map<string, Job>();
  readonly #newLine: LineMaker;
  #sweepAt = SWEEP_FROM;

  constructor({ clock, hosts = {}, onHold = () => {}, shared, ...usual }: HostGateSettings) {
    this.#clock = clock;
    this.#onHold = onHold;
    this.#limits = new LimitsByHost(usual, hosts);
    this.#newLine = lineMaker(shared, clock, (job) => this.#jobs.get(job)?.weight ?? 1);
  }

  /** Number of hosts with a state. */
  get known(): number {
    return this.#hosts.size;
  }

  enter(name: string, patienceMs: number, signal: AbortSignal, job = NO_JOB): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    return this.#enter(this.#host(name), this.#jobs.get(job)?.requests ?? null, { job, patienceMs }, signal);
  }

  isOpen(name: string, job = NO_JOB): boolean {
    const host = this.#hosts.get(name);
    return host === undefined || this.#isOpen(host, this.#jobs.get(job)?.requests ?? null, this.#clock.elapsed());
  }

  opening(name: string): Promise<void> | null {
    return this.#hosts.get(name)?.line.opening ?? null;
  }

  paceItem(job: string, signal: AbortSignal): Promise<unknown> | null {
    const items = this.#jobs.get(job)?.items ?? null;
    if (items === null) return null;
    if (signal.aborted) return Promise.reject(signal.reason);
    const entering = this.#enter(items, null, { job, patienceMs: Number.POSITIVE_INFINITY }, signal);
    return entering.then((leave) => leave());
  }

  noteTrouble(name: string): TroubleRate {
    const host = this.#host(name);
    host.trouble = withTrouble(host.trouble);
    return troubleRate(host.trouble);
  }

  noteAnswer(name: string, answer: HostAnswer, why: string): void {
    const host = this.#host(name);
    this.#noteAnswer(host, answer, why);
    host.line.spread();
  }

  #noteAnswer(host: Host, answer: HostAnswer, why: string): void {
    const { name, health } = host;
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
    // Requests under way when the pause began say nothing new.
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
    const host = this.#host(name);
    const now = this.#clock.elapsed();
    pauseHost(host, ms, why, now);
    host.health.news.notePause(now + ms);
    host.line.spread();
    this.#onHold(name, ms, why);
  }

  /** The same for a pause that another process reported, or an operator set. */
  keepAway(name: string, ms: number, why: string): void {
    if (!(ms > 0)) return;
    const host = this.#host(name);
    host.health.isThere();
    pauseHost(host, ms, why, this.#clock.elapsed());
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
   * The site asks for this much time between two requests; 0 takes it back. Stricter settings of our own still apply.
   * The caller must take back a delay that it no longer needs; until then it is kept.
   */
  setMinDelay(name: string, ms: number): void {
    this.#limits.setMinDelay(name, ms);
    this.#applyLimits(name);
  }

  /** What an operator has set for the host replaces our own settings; null takes it back. */
  setLimits(name: string, limits: HostLimits | null): void {
    this.#limits.set(name, limits);
    this.#applyLimits(name);
  }

  setJobLimits(job: string, { weight, requestsPerSecond, itemDelayMs }: JobLimits): void {
    const known = this.#jobs.get(job);
    if (known === undefined && this.#jobs.size >= MAX_JOBS) this.#forgetIdleJobs();
    const requests = { ...NO_LIMITS, requestsPerSecond };
    const items = { ...NO_LIMITS, minDelayMs: itemDelayMs };
    const paced = this.#paceLine(jobRequestsLine(job), known?.requests ?? null, requests);
    this.#jobs.set(job, {
      weight,
      requests: paced.line,
      items: this.#paceHost(jobItemsLine(job), known?.items ?? null, items),
    });
    if (paced.line === null || !paced.isChanged) return;
    for (const host of this.#hosts.values()) {
      if (!host.waiting.has(job)) continue;
      giveLine(host, job, paced.line);
      this.#reconsider(host);
    }
  }

  /** Ends timers, so that they do not keep the process alive. */
  close(): void {
    for (const { line, timer } of this.#hosts.values()) {
      line.close();
      timer?.abort(CLOSED);
    }
    for (const { requests, items } of this.#jobs.values()) {
      requests?.close();
      items?.line.close();
      items?.timer?.abort(CLOSED);
    }
  }

  /** A limit that was taken back stays for those that wait for it, and lets them in. */
  #paceLine(name: string, known: Line | null, limits: LineLimits): { line: Line | null; isChanged: boolean } {
    if (known !== null) return { line: known, isChanged: known.setLimits(limits) };
    return { line: linePace(limits) !== null ? this.#newLine(name, limits, null) : null, isChanged: true };
  }

  #paceHost(name: string, known: Host | null, limits: LineLimits): Host | null {
    if (known === null)
      return linePace(limits) !== null ? newHost(name, this.#clock, () => this.#newLine(name, limits, null)) : null;
    if (known.line.setLimits(limits)) this.#reconsider(known);
    return known;
  }

  #forgetIdleJobs(): void {
    const isIdle = (line: Line) => line.inside === 0 && line.waitingByJob.size === 0;
    for (const [id, { requests, items }] of this.#jobs) {
      if ((requests === null || isIdle(requests)) && (items === null || isIdle(items.line))) this.#jobs.delete(id);
    }
  }

  #applyLimits(name: string): void {
    const host = this.#hosts.get(name);
    if (host?.line.setLimits(this.#limits.of(name))) this.#reconsider(host);
  }

  /** The limits of callers that wait there are others. */
  #reconsider(host: Host): void {
    // It may be set for a later time than is now right. Waiting callers get a new one when it ends.
    host.timer?.abort(OTHER_LIMITS);
    // More may be allowed inside than before.
    this.#letIn(host);
  }

  #isOpen(host: Host, own: Line | null, now: number): boolean {
    return (
      host.waiting.size === 0 && host.heldUntil <= now && readyIn(host, now) === 0 && (own?.readyIn(now) ?? 0) === 0
    );
  }

  #enter(
    host: Host,
    own: Line | null,
    { job, patienceMs }: { readonly job: string; readonly patienceMs: number },
    signal: AbortSignal,
  ): Promise<() => void> {
    const now = this.#clock.elapsed();
    const heldMs = host.heldUntil - now;
    if (heldMs > patienceMs) return Promise.reject(new HostHeld(host.name, heldMs, host.heldWhy));
    if (this.#isOpen(host, own, now)) return Promise.resolve(this.#admit(host, own, job, now));

    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiter: Waiter = {
      own,
      patienceMs,
      admit: (at) => {
        signal.removeEventListener('abort', give);
        dropWaiter(host, job, waiter);
        resolve(this.#admit(host, waiter.own, job, at));
      },
      turnAway: (ms) => {
        signal.removeEventListener('abort', give);
        dropWaiter(host, job, waiter);
        reject(new HostHeld(host.name, ms, host.heldWhy));
      },
    };
    const give = () => {
      dropWaiter(host, job, waiter);
      reject(signal.reason);
    };
    signal.addEventListener('abort', give, { once: true });
    addWaiter(host, job, waiter);
    this.#letIn(host);
    return promise;
  }

  #admit(host: Host, own: Line | null, job: string, now: number): () => void {
    const { health } = host;
    host.line.start(job, now);
    own?.start(job, now);
    host.trouble = withRequest(host.trouble);
    host.startedAt = now;
    health.entered(now);
    if (health.isAway) host.isProbed = true;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      host.line.end(job);
      own?.end(job);
      const leftAt = this.#clock.elapsed();
      health.left(leftAt - now);
      // The meaning of the probe's answer is reported in a moment, and until then no other request may follow it.
      if (health.isAway) host.heldUntil = Math.max(host.heldUntil, leftAt + VERDICT_MS);
      if (host.waiting.size > 0) this.#letIn(host);
    };
  }

  #letIn(host: Host): void {
    while (host.waiting.size > 0) {
      const now = this.#clock.elapsed();
      if (host.heldUntil > now) {
        this.#wakeAfter(host.heldUntil - now, host);
        return;
      }
      const ready = readyIn(host, now);
      if (ready !== 0) {
        this.#await(host.line, ready, host, now);
        return;
      }
      const next = this.#nextWaiter(host, now);
      if (next === null) return;
      next.admit(now);
    }
  }

  /** The next waiter, from the first job whose own limit allows one to start; null if there is none now. */
  #nextWaiter(host: Host, now: number): Waiter | null {
    let next: Waiter | null = null;
    let highest = Number.NEGATIVE_INFINITY;
    for (const [job, waiters] of host.waiting) {
      const [first] = waiters;
      if (first === undefined) continue;
      const ready = first.own?.readyIn(now) ?? 0;
      if (first.own !== null && ready !== 0) {
        this.#await(first.own, ready, host, now);
        continue;
      }
      const priority = host.line.priority(job);
      if (next !== null && priority <= highest) continue;
      next = first;
      highest = priority;
    }
    return next;
  }

  #await(line: Line, ready: Readiness, host: Host, now: number): void {
    line.awaitReservation(host.wake ?? this.#wakeOf(host), ready, now);
    if (typeof ready === 'number') this.#wakeAfter(ready, host);
  }

  #wakeOf(host: Host): () => void {
    host.wake = () => this.#letIn(host);
    return host.wake;
  }

  #wakeAfter(ms: number, host: Host): void {
    const at = this.#clock.elapsed() + ms;
    if (host.timer !== null) {
      // When it ends, the right one is set.
      if (at < host.timerAt - 1) host.timer.abort(SOONER);
      return;
    }
    const timer = new AbortController();
    host.timer = timer;
    host.timerAt = at;
    void this.#clock.sleep(ms, timer.signal).then(() => {
      host.timer = null;
      // A caller may have come since the timer was cancelled.
      if (timer.signal.reason !== CLOSED) this.#letIn(host);
    });
  }

  #host(name: string): Host {
    const known = this.#hosts.get(name);
    if (known !== undefined) return known;
    if (this.#hosts.size >= this.#sweepAt) this.#sweep();
    const host = newHost(name, this.#clock, (link) => this.#newLine(hostLine(name), this.#limits.of(name), link));
    this.#hosts.set(name, host);
    return host;
  }

  /** Rarely enough to cost little per host, often enough to keep memory in proportion to the hosts in use. */
  #sweep(): void {
    const now = this.#clock.elapsed();
    for (const [name, { waiting, heldUntil, line, health }] of this.#hosts) {
      const isQuiet = waiting.size === 0 && heldUntil <= now && health.isUsual;
      if (isQuiet && line.isForgettable(now)) this.#hosts.delete(name);
    }
    this.#sweepAt = Math.max(SWEEP_FROM, this.#hosts.size * 2);
  }
}

/** Requests that belong to no item, for instance for a robots.txt. */
const NO_JOB = '';

/** Aborting without a reason would create an exception with a stack trace. */
const LIFTED = 'the pause was lifted';
const OTHER_LIMITS = 'the limits are others';
const SOONER = 'sooner';
const CLOSED = 'closed';

const SWEEP_FROM = 1000;

/** Longer than it takes to read a page. */
const VERDICT_MS = 2000;

/** A worker meets few jobs at a time. */
const MAX_JOBS = 1000;

interface Job {
  readonly weight: number;
  /** Null if there is no limit. */
  readonly requests: Line | null;
  readonly items: Host | null;
}
