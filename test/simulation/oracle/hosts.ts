import type { LineShare } from '../../../src/domain/line-book.ts';
import { type LineLimits, linePace, NO_LIMITS, stricterLimits } from '../../../src/domain/line-limits.ts';
import type { NamedAsk } from '../../../src/ports/host-shares.ts';
import type { SharedHost } from '../shared-host.ts';
import type { SimProcess } from '../sim-process.ts';
import { HostHealthOracle } from './host-health.ts';

/**
 * What all workers together may do to a host:
 *
 *   places   what processes have reserved, as long as their leases last, whether they are alive or dead, is never more than
 *            the host's limit when another place is given away; nor are there more callers inside
 *   slots    no two that were given away are closer than the host's spacing, also if an answer was lost
 *   use      a process gets a place if no other has a lease, and callers do not wait for long at a host that is empty: what a
 *            dead process had has come back
 *
 * Limits are those of the host, or what processes have learned about it (`HostHealthOracle`) where that is less.
 *
 * Slots and leases are times of the clock of the process that asks. Where clocks differ or are set, only the last of all
 * is checked; elsewhere they agree exactly, and so nothing is tolerated but the rounding of fractions.
 */
export class HostOracle {
  readonly #host: SharedHost;
  readonly #now: () => number;
  readonly #wallTime: () => number;
  readonly #areClocksRight: boolean;
  readonly #isHealing: () => boolean;
  readonly #fail: (message: string) => void;
  readonly #health: HostHealthOracle;
  readonly #pauses = new Map<SimProcess, () => boolean>();
  readonly #reserved = new Map<string, { readonly until: number; readonly places: number }>();
  #slots: number[] = [];
  readonly #inside = new Map<SimProcess, number>();
  readonly #waiting = new Map<SimProcess, number>();
  readonly #disturbedAt = new Map<SimProcess, number>();
  /** Time during which a caller waited and none was inside, since the last one entered. */
  #idleMs = 0;
  #lookedAt = 0;

  constructor(parts: {
    readonly host: SharedHost;
    readonly now: () => number;
    /** By clocks that are right. */
    readonly wallTime: () => number;
    readonly areClocksRight: boolean;
    /** Whether no more faults begin. */
    readonly isHealing: () => boolean;
    readonly fail: (message: string) => void;
  }) {
    this.#host = parts.host;
    this.#now = parts.now;
    this.#wallTime = parts.wallTime;
    this.#areClocksRight = parts.areClocksRight;
    this.#isHealing = parts.isHealing;
    this.#fail = parts.fail;
    this.#health = new HostHealthOracle(parts.fail);
  }

  /** A process can visit the host from now on. `isPaused`: it leaves the host alone for a while. */
  opened(process: SimProcess, isPaused: () => boolean): void {
    this.#pauses.set(process, isPaused);
  }

  /** A reservation took effect, whether or not the process ever hears of it. `now` is the time by its clock. */
  reserved(process: SimProcess, ask: NamedAsk, share: LineShare, now: number): void {
    if (this.#areClocksRight) {
      this.#health.reserved(process.name, ask, share, now);
      this.#judgePlaces(process, share, now + share.heldMs);
      this.#judgeRefusal(process, ask, share, now);
      for (const slot of share.slots) this.#judgeSlot(process, share, now + slot);
      this.#slots = this.#slots.filter((slot) => slot > now - KEPT_MS);
    }
    this.#reserved.set(process.name, {
      until: now + share.heldMs,
      places: Math.max(share.places ?? 0, ask.inside),
    });
  }

  /** A reservation was cut off: it may have replaced what the process had, or not. */
  unsure(process: SimProcess): void {
    this.#reserved.set(process.name, { until: this.#wallTime() + this.#longestMs, places: 0 });
    this.#health.unsure();
    this.disturbed(process);
  }

  /** A machine that went down has forgotten its workers and what they had. */
  forget(): void {
    this.#reserved.clear();
    // Some of it may be on the disk.
    this.#reserved.set('the machine that went down', { until: this.#wallTime() + this.#longestMs, places: 0 });
    this.#slots = [];
    this.#health.unsure();
  }

  /** The process got its answer late or never, and goes on with a part of what it had (`SharedLine`). */
  disturbed(process: SimProcess): void {
    this.#disturbedAt.set(process, this.#now());
  }

  waits(process: SimProcess): void {
    this.#look();
    add(this.#waiting, process, 1);
  }

  givesUp(process: SimProcess): void {
    this.#look();
    add(this.#waiting, process, -1);
  }

  enters(process: SimProcess): void {
    this.#look();
    add(this.#waiting, process, -1);
    add(this.#inside, process, 1);
    this.#idleMs = 0;
    const limit = this.#host.limits.maxConcurrent;
    const inside = sum(this.#inside);
    if (limit === null || inside <= limit || !this.#areClocksRight) return;
    if ([...this.#inside.keys()].some((other) => this.#isDisturbed(other))) return;
    this.#fail(`${inside} callers are inside ${this.#host.name}, and ${limit} are allowed`);
  }

  leaves(process: SimProcess): void {
    this.#look();
    add(this.#inside, process, -1);
  }

  ended(process: SimProcess): void {
    this.#look();
    this.#waiting.delete(process);
    this.#inside.delete(process);
    this.#pauses.delete(process);
  }

  #judgePlaces(process: SimProcess, share: LineShare, until: number): void {
    const { places } = share;
    const limit = this.#inForce(share).maxConcurrent;
    const now = this.#wallTime();
    // The lease of a reservation that was long on its way is over before it is granted.
    if (limit === null || places === null || places === 0 || until <= now) return;
    let others = 0;
    for (const [name, reserved] of this.#reserved) {
      if (name !== process.name && reserved.until > now) others += reserved.places;
    }
    if (places + others <= limit) return;
    this.#fail(`${process.name} is given ${places} places of ${limit}, and others have ${others}`);
  }

  #judgeRefusal(process: SimProcess, { demands }: NamedAsk, { places }: LineShare, now: number): void {
    // A job that is named without a place used the host a moment ago.
    if (places !== 0 || demands.every(({ places: wanted }) => wanted === 0)) return;
    // Leases are kept for a quarter longer, should clocks differ.
    const since = now - this.#host.leaseMs / 4 - ROUNDED_MS;
    const isAlone = [...this.#reserved].every(([name, { until }]) => name === process.name || until < since);
    if (isAlone) this.#fail(`${process.name} gets no place at ${this.#host.name}, and no other process has a lease`);
  }

  /** No lease lasts longer. */
  get #longestMs(): number {
    return 2 * this.#host.leaseMs + 4 * (linePace(this.#host.limits)?.spacingMs ?? 0);
  }

  #inForce({ health }: LineShare): LineLimits {
    return stricterLimits(this.#host.limits, health?.limits ?? NO_LIMITS);
  }

  #judgeSlot(process: SimProcess, share: LineShare, slot: number): void {
    const spacingMs = linePace(this.#inForce(share))?.spacingMs ?? 0;
    const near = this.#slots.find((other) => Math.abs(other - slot) < spacingMs - ROUNDING_MS);
    this.#slots.push(slot);
    if (near === undefined) return;
    const apartMs = Math.abs(near - slot).toFixed(2);
    this.#fail(`${process.name} is given a slot ${apartMs} ms from another one, and they are to be ${spacingMs} apart`);
  }

  #isDisturbed(process: SimProcess): boolean {
    const at = Math.max(process.wrongedAt, this.#disturbedAt.get(process) ?? Number.NEGATIVE_INFINITY);
    return process.isStalled || at > this.#now() - CALM_AFTER_MS;
  }

  #look(): void {
    const now = this.#now();
    const isPaused = [...this.#pauses.values()].some((paused) => paused());
    const isIdle = this.#isHealing() && !isPaused && sum(this.#waiting) > 0 && sum(this.#inside) === 0;
    this.#idleMs = isIdle ? this.#idleMs + now - this.#lookedAt : 0;
    this.#lookedAt = now;
    if (this.#idleMs <= PATIENCE_MS) return;
    this.#fail(`callers wait for ${this.#host.name} since ${Math.round(this.#idleMs)} ms, and nobody is inside`);
  }
}

/** Leases are stored in whole milliseconds. */
const ROUNDED_MS = 2;

/** Times are numbers of milliseconds since 1970, with a fraction. */
const ROUNDING_MS = 0.01;

/** A reservation may be under way for less than half of it, and names the time at which it began. */
const KEPT_MS = 60_000;

/** As long as a process whose reservations fail goes on with half of what it had, and the lease after. */
const CALM_AFTER_MS = 35_000;

/** Several times what it takes until the leases of dead processes have ended, and waiting ones have asked again. */
const PATIENCE_MS = 20_000;

function add(counts: Map<SimProcess, number>, process: SimProcess, by: number): void {
  // What a dead process would still do no longer counts.
  if (process.isOver) return;
  counts.set(process, (counts.get(process) ?? 0) + by);
}

function sum(counts: ReadonlyMap<SimProcess, number>): number {
  let all = 0;
  for (const count of counts.values()) all += count;
  return all;
}
