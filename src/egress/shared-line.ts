import { type JobDemand, type LineShare, MAX_DEMANDS } from '../domain/line-book.ts';
import { isUnlimited, type LineLimits, linePace, NO_LIMITS, stricterLimits } from '../domain/line-limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { NamedAsk } from '../ports/host-shares.ts';
import type { HealthLink } from './health-link.ts';
import { Line, type Readiness } from './line.ts';
import type { Reserver } from './reserver.ts';

export interface SharedLineDeps {
  readonly name: string;
  readonly limits: LineLimits;
  readonly link: HealthLink | null;
  readonly reserver: Reserver;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly weightOf: (job: string) => number;
}

/**
 * A line that other processes use, too: this one may use what it has reserved (`domain/line-book.ts`). It is
 *
 *   idle      nothing is reserved, or it is not needed: it is not renewed, and expires
 *   held      places and slots can be used until their lease ends; asked for again, once per lease, while there is work
 *   cut off   reserving fails: half of what it had last stays in use for some time, because no one else can reserve either if
 *             the storage is down, and others have the rest if it is only us; then it waits
 *
 * At most one request for a reservation is under way.
 */
export class SharedLine extends Line {
  readonly #deps: SharedLineDeps;
  /** Its own limits, combined with those that the host has shown. */
  #inForce: LineLimits;
  #share: LineShare | null = null;
  #sharedAt = Number.NEGATIVE_INFINITY;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #places = 0;
  #slots: number[] = [];
  /** Requests started in the first of the slots. */
  #usedOfSlot = 0;
  /** Slots that each job has left; negative if it used those of others. */
  #credits = new Map<string, number>();
  /** Requests started since it last asked. */
  #used = new Map<string, number>();
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  #opening: PromiseWithResolvers<void> | null = Promise.withResolvers<void>();
  #mayAskAt = Number.NEGATIVE_INFINITY;
  #timer: AbortController | null = null;
  #timerAt = 0;
  readonly #wakes = new Set<() => void>();

  constructor(deps: SharedLineDeps) {
    super(deps.limits);
    this.#deps = deps;
    this.#inForce = deps.limits;
  }

  override readyIn(now: number): Readiness {
    const { maxConcurrent } = this.#inForce;
    if (maxConcurrent !== null) {
      if (now >= this.#heldUntil) return 'until-reserved';
      if (this.inside >= this.#places) return this.#isAsking || this.#mayGrow ? 'until-reserved' : 'until-one-leaves';
    }
    const pace = linePace(this.#inForce);
    if (pace === null) return 0;
    while (this.#slots[0] !== undefined && this.#slots[0] + pace.lateMs < now) this.#nextSlot();
    const [slot] = this.#slots;
    return slot === undefined ? 'until-reserved' : Math.max(0, slot - now);
  }

  override get opening(): Promise<void> | null {
    return this.#opening?.promise ?? null;
  }

  /** Slots go to the job with the largest unused part; places to the one that has filled the least of its part. */
  override priority(job: string): number {
    if (this.#credits.size > 0) return this.#credits.get(job) ?? 0;
    const part = this.#share?.parts.find(([name]) => name === job)?.[1] ?? 0;
    return -(this.insideByJob.get(job) ?? 0) / Math.max(part, 0.01);
  }

  override start(job: string, now: number): void {
    super.start(job, now);
    if (isUnlimited(this.limits)) return;
    this.#used.set(job, (this.#used.get(job) ?? 0) + 1);
    // It was not needed when it was due for renewal. Without this it would end while the request is under way.
    if (this.#timer === null && !this.#isAsking) this.#renewAt(this.#sharedAt + (this.#share?.againMs ?? 0));
    if (this.#slots.length === 0) return;
    this.#credits.set(job, (this.#credits.get(job) ?? 0) - 1);
    this.#usedOfSlot += 1;
    if (this.#usedOfSlot >= (this.#share?.each ?? 1)) this.#nextSlot();
  }

  override awaitReservation(wake: () => void, ready: Readiness, now: number): void {
    this.#wakes.add(wake);
    const hasSlotsForAll = typeof ready === 'number' && this.#slots.length * (this.#share?.each ?? 1) >= this.#waiting;
    if (!hasSlotsForAll) this.#askInTime(now);
  }

  override spread(): void {
    const { link, clock } = this.#deps;
    if (link === null || this.#timer !== null || this.#isAsking || !link.isUrgent()) return;
    if (isUnlimited(this.limits)) return;
    this.#renewAt(Math.max(clock.elapsed(), this.#mayAskAt));
  }

  override setLimits(limits: LineLimits): boolean {
    if (!super.setLimits(limits)) return false;
    this.#inForce = stricterLimits(limits, this.#share?.health?.limits ?? NO_LIMITS);
    // They were spaced for the old limit.
    this.#slots = [];
    this.#usedOfSlot = 0;
    if (limits.maxConcurrent !== null) this.#places = Math.min(this.#places, limits.maxConcurrent);
    this.#mayAskAt = Math.min(this.#mayAskAt, this.#askedAt + this.#deps.leaseMs / GROWTHS_PER_LEASE);
    this.#timer?.abort(OTHER_LIMITS);
    return true;
  }

  override isForgettable(now: number): boolean {
    return this.inside === 0 && !this.#isAsking && now >= this.#heldUntil && this.#timer === null;
  }

  override close(): void {
    this.#timer?.abort(CLOSED);
  }

  /** What to ask for now. Called by the reserver, which then calls `take` or `miss`. */
  ask(now: number): NamedAsk {
    const { name, leaseMs } = this.#deps;
    // After a pause of hours, earlier usage says nothing about the next second.
    const seconds = Math.min(10 * leaseMs, Math.max(now - this.#askedAt, leaseMs / 10)) / 1000;
    this.#askedAt = now;
    const demands = this.#demands(seconds);
    this.#used = new Map();
    // Places that are empty now may be given to others, which takes effect before the answer arrives.
    this.#places = Math.min(this.#places, this.inside);
    const news = this.#deps.link?.take(now) ?? null;
    return { line: name, limits: this.limits, leaseMs, inside: this.inside, demands, news };
  }

  /** What was asked for at `askedAt` was reserved. */
  take(share: LineShare, askedAt: number): void {
    const { leaseMs } = this.#deps;
    this.#isAsking = false;
    this.#share = share;
    this.#sharedAt = askedAt;
    this.#inForce = stricterLimits(this.limits, share.health?.limits ?? NO_LIMITS);
    this.#grant(share, askedAt, askedAt + share.heldMs);
    this.#mayAskAt = askedAt + (share.isCut ? share.againMs : leaseMs / GROWTHS_PER_LEASE);
    this.#renewAt(askedAt + share.againMs);
    this.#deps.link?.learn(share.health, askedAt);
    this.#wakeAll();
  }

  /** It could not be reserved. */
  miss(): void {
    const { clock, leaseMs } = this.#deps;
    const now = clock.elapsed();
    this.#isAsking = false;
    this.#deps.link?.restore();
    this.#mayAskAt = now + leaseMs;
    const share = this.#share;
    if (share !== null && now - this.#sharedAt < CUT_OFF_MS && now >= this.#heldUntil - leaseMs / 2) {
      const places = share.places === null ? null : Math.ceil(share.places / 2);
      const slots = share.slots.filter((_, at) => at % 2 === 0);
      this.#grant({ ...share, places, slots }, now, now + leaseMs);
    }
    this.#renewAt(now + leaseMs);
    this.#wakeAll();
  }

  #grant({ places, slots, each, parts }: LineShare, from: number, until: number): void {
    this.#places = places ?? Number.POSITIVE_INFINITY;
    this.#heldUntil = until;
    this.#slots = [...this.#slots, ...slots.map((slot) => from + slot)].sort((a, b) => a - b);
    const count = slots.length * each;
    const credits = new Map<string, number>();
    for (const [job, part] of count > 0 ? parts : []) {
      const left = Math.max(-count, Math.min(count, this.#credits.get(job) ?? 0));
      credits.set(job, left + part * count);
    }
    this.#credits = credits;
  }

  #demands(seconds: number): readonly JobDemand[] {
    const jobs = new Set([...this.insideByJob.keys(), ...this.waitingByJob.keys(), ...this.#used.keys()]);
    const demands = [...jobs].map((job): JobDemand => {
      const waiting = this.waitingByJob.get(job) ?? 0;
      const inside = this.insideByJob.get(job) ?? 0;
      const perSecond = (GROWTH * (this.#used.get(job) ?? 0)) / seconds + STARTS_PER_WAITING * waiting + inside / 2;
      return { job, weight: this.#deps.weightOf(job), places: waiting + inside, perSecond };
    });
    return demands.sort((a, b) => b.perSecond - a.perSecond).slice(0, MAX_DEMANDS);
  }

  get #waiting(): number {
    let waiting = 0;
    for (const count of this.waitingByJob.values()) waiting += count;
    return waiting;
  }

  get #mayGrow(): boolean {
    return this.#share !== null && !this.#share.isCut;
  }

  #nextSlot(): void {
    this.#slots.shift();
    this.#usedOfSlot = 0;
  }

  #askInTime(now: number): void {
    if (this.#isAsking || isUnlimited(this.limits)) return;
    if (now < this.#mayAskAt) {
      this.#renewAt(this.#mayAskAt);
      return;
    }
    this.#isAsking = true;
    this.#deps.reserver.reserve(this);
  }

  /** Asks at that time, if there is something to ask for; earlier if that was already planned. */
  #renewAt(at: number): void {
    if (this.#timer !== null) {
      // When it ends, the right one is set.
      if (at < this.#timerAt - 1) this.#timer.abort(SOONER);
      return;
    }
    const { clock } = this.#deps;
    const timer = new AbortController();
    this.#timer = timer;
    this.#timerAt = at;
    void clock.sleep(Math.max(0, at - clock.elapsed()), timer.signal).then(() => {
      this.#timer = null;
      if (timer.signal.reason === CLOSED || !this.#isNeeded) return;
      this.#askInTime(clock.elapsed());
    });
  }

  /** Filled places must stay reserved; what was used a moment ago will be needed in a moment. */
  get #isNeeded(): boolean {
    if (this.waitingByJob.size > 0 || (this.inside > 0 && this.#inForce.maxConcurrent !== null)) return true;
    if (this.#deps.link?.isUrgent() === true) return true;
    let used = 0;
    for (const count of this.#used.values()) used += count;
    return used >= STEADY_USE;
  }

  #wakeAll(): void {
    const wakes = [...this.#wakes];
    this.#wakes.clear();
    for (const wake of wakes) wake();
    this.#opening?.resolve();
    this.#opening = null;
  }
}

/** A process that got everything it asked for, and now needs more, asks again before its lease ends. */
const GROWTHS_PER_LEASE = 4;

/** More than was used, so that a job can become faster. */
const GROWTH = 1.25;

/** A waiting caller would start this many requests per second, if each takes half a second. */
const STARTS_PER_WAITING = 2;

/** With fewer requests per lease, they are asked for when they come. */
const STEADY_USE = 3;

/** How long a process that cannot reserve continues with half of what it had. */
const CUT_OFF_MS = 30_000;

const SOONER = 'sooner';
const OTHER_LIMITS = 'the limits are others';
const CLOSED = 'closed';
