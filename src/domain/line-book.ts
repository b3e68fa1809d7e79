import { fairShares, type Wish } from './fair-share.ts';
import { type HeardHealth, hearHealth, type LineHealth, type LineNews, withNews } from './line-health.ts';
import { type LineLimits, type LinePace, linePace, NO_LIMITS, stricterLimits } from './line-limits.ts';
import { freeSlots, giveAway, gridFrom, type SlotGrid, slotTime, spread } from './slot-grid.ts';

/**
 * Who may use a line, recorded for all processes of an installation. A process reserves what it may use until its lease
 * ends: *places* for concurrent requests, and *slots* in which requests may start. It keeps to that on its own, so
 * nothing is written per request. No one else gets what it has, and what a dead process had becomes free when its lease
 * ends.
 * Times are those of the clock of the asking process. Clocks that differ by less than a quarter of a lease do no harm.
 */
export interface LineBook {
  readonly grid: SlotGrid | null;
  readonly holders: readonly Holder[];
  /** State of a host that refused requests or did not answer; null if it is well, and for other lines. */
  readonly health: LineHealth | null;
}

export const EMPTY_BOOK: LineBook = { grid: null, holders: [], health: null };

/** A process that reserved something, or waits for it. */
export interface Holder {
  readonly process: string;
  /** The end of its lease. */
  readonly until: number;
  /** The number it may fill, or has filled: more than it may fill if its share was reduced. */
  readonly places: number;
  /** It has its share of the slots until then. */
  readonly slotsUntil: number;
  /** The fraction of a slot by which its share exceeded what it got. */
  readonly owed: number;
  /** Since when it has been waiting with nothing; null if it got something. */
  readonly waitsSince: number | null;
  readonly demands: readonly JobDemand[];
  /** When its lease seemed too long to an asking process; null if the last one to ask believed it. */
  readonly doubtedAt: number | null;
}

/** What a process would like to use for one job. */
export interface JobDemand {
  readonly job: string;
  readonly weight: number;
  /** Requests under way or waiting. */
  readonly places: number;
  /** Requests started per second. */
  readonly perSecond: number;
}

export interface LineAsk {
  readonly limits: LineLimits;
  /** How often a process with work for the line asks; what it gets lasts one and a half times as long. */
  readonly leaseMs: number;
  /** Requests that are under way. */
  readonly inside: number;
  readonly demands: readonly JobDemand[];
  /** What was seen of the host since it last asked; null for nothing. */
  readonly news: LineNews | null;
}

/** What a process may use. Durations count from the moment of asking. */
export interface LineShare {
  /** Null for no limit. */
  readonly places: number | null;
  /** How long the places may be filled. */
  readonly heldMs: number;
  /** Start times of slots, soonest first. */
  readonly slots: readonly number[];
  /** Requests per slot. */
  readonly each: number;
  readonly lateMs: number;
  /** The fraction of each job. */
  readonly parts: readonly (readonly [job: string, part: number])[];
  /**
   * Whether it is less than was asked for, because others also use the line or because of its limits: asking sooner is
   * useless.
   */
  readonly isCut: boolean;
  /** It is useless to ask sooner or more often than this. */
  readonly againMs: number;
  /** What is known of the host; null if it is well. */
  readonly health: HeardHealth | null;
}

/** A lease lasts this much longer than the time until it is renewed. */
const HELD = 1.5;
/** The fraction of a lease by which the clocks of two processes may differ. */
const GRACE = 0.25;
/** A process that got nothing has its turn after this many leases of the others. */
const TURN = 3;
/** More than any installation has. Further processes wait until others have left. */
const MAX_HOLDERS = 500;
/** Jobs that a process names on one line, those with the highest demand. */
export const MAX_DEMANDS = 20;

export function reserve(
  book: LineBook,
  process: string,
  asked: LineAsk,
  now: number,
): { readonly book: LineBook; readonly share: LineShare } {
  const { leaseMs } = asked;
  const known = book.holders.find((holder) => holder.process === process);
  const reporter = { now, settleMs: HELD * leaseMs, crowd: crowdOf(book.holders, known) };
  const health = withNews(book.health, asked.news, reporter);
  const heard = hearHealth(health, now);
  const ask = { ...asked, limits: stricterLimits(asked.limits, heard?.limits ?? NO_LIMITS) };
  const pace = linePace(ask.limits);
  const reachMs = Math.max(HELD * leaseMs, pace?.spacingMs ?? 0);
  const others = liveHolders(book.holders, process, reachMs, leaseMs, now);
  const crowd: Crowd = { process, ask, others, known, now };

  const places = reservePlaces(crowd);
  const slots = reserveSlots(crowd, book.grid, pace, reachMs);
  const gotNothing = ask.demands.length > 0 && (places.granted === 0 || (pace !== null && slots.offsets.length === 0));
  const againMs = Math.max(leaseMs, slots.againMs);
  const heldMs = againMs + (HELD - 1) * leaseMs;
  const isTurnedAway = known === undefined && others.length >= MAX_HOLDERS;
  const holder: Holder = {
    process,
    until: now + heldMs,
    places: Math.max(places.granted ?? 0, ask.inside),
    slotsUntil: slots.until,
    owed: slots.owed,
    waitsSince: gotNothing ? (known?.waitsSince ?? now) : null,
    demands: ask.demands,
    doubtedAt: null,
  };
  return {
    book: {
      grid: isTurnedAway ? book.grid : slots.grid,
      holders: isTurnedAway ? others : [...others, holder],
      health,
    },
    share: {
      places: isTurnedAway ? 0 : places.granted,
      heldMs,
      slots: isTurnedAway ? [] : slots.offsets,
      each: pace?.each ?? 1,
      lateMs: pace?.lateMs ?? 0,
      parts: slots.parts ?? places.parts,
      isCut: isTurnedAway || places.isCut || slots.isCut,
      againMs,
      health: heard,
    },
  };
}

/** For processes that visit a host without a rate limit, activity is measured by their places. */
function crowdOf(holders: readonly Holder[], own: Holder | undefined): number {
  if (own === undefined || own.places === 0) return 1;
  return holders.reduce((sum, { places }) => sum + places, 0) / own.places;
}

/** From then on the book says no more than an empty one. */
export function bookEndsAt({ grid, holders, health }: LineBook): number {
  const lastSlot = grid === null ? 0 : grid.from + (grid.taken.toString(2).length + 1) * grid.spacingMs;
  const endsAt = Math.max(lastSlot, ...holders.map(({ until }) => until + LONGEST_GRACE_MS));
  return health === null ? endsAt : endsAt + HEALTH_KEPT_MS;
}

/** A host that was not visited for longer may have changed. */
const HEALTH_KEPT_MS = 3_600_000;

/** Leases last only a few seconds. */
const LONGEST_GRACE_MS = 10_000;

interface Crowd {
  readonly process: string;
  readonly ask: LineAsk;
  readonly others: readonly Holder[];
  readonly known: Holder | undefined;
  readonly now: number;
}

/**
 * A lease that ends later than possible was given by a wrong clock, or this request was delayed on its way. So the
 * lease is doubted. Its holder may be alive, and is kept for the duration of a lease, unless a later request believes
 * it again.
 */
function liveHolders(
  holders: readonly Holder[],
  process: string,
  reachMs: number,
  leaseMs: number,
  now: number,
): readonly Holder[] {
  const longestMs = reachMs + HELD * leaseMs;
  return holders
    .filter((holder) => holder.process !== process && holder.until + GRACE * leaseMs > now)
    .map((holder) => ({ ...holder, doubtedAt: holder.until > now + longestMs ? doubtedSince(holder, now) : null }))
    .filter(({ doubtedAt }) => doubtedAt === null || doubtedAt + longestMs + GRACE * leaseMs > now);
}

function doubtedSince({ doubtedAt }: Holder, now: number): number {
  return doubtedAt === null ? now : Math.min(doubtedAt, now);
}

function wishesOf({ process, ask, others }: Crowd, amountOf: (demand: JobDemand) => number): readonly Wish[] {
  const all = [...others, { process, demands: ask.demands }];
  return all.flatMap(({ process: name, demands }) =>
    demands.map((demand) => ({
      process: name,
      job: demand.job,
      weight: demand.weight,
      amount: amountOf(demand),
    })),
  );
}

interface Division {
  /** The share of each process that wants some. */
  readonly byProcess: ReadonlyMap<string, number>;
  /**
   * The process's part of the unclaimed capacity. Another part of the same size is left for a process that may come.
   */
  readonly spare: number;
  readonly parts: LineShare['parts'];
  readonly isCut: boolean;
}

function divide(capacity: number, crowd: Crowd, amountOf: (demand: JobDemand) => number): Division {
  const wishes = wishesOf(crowd, amountOf);
  const shares = fairShares(capacity, wishes);
  const byProcess = new Map<string, number>();
  let sum = 0;
  for (const [at, { process }] of wishes.entries()) {
    const share = shares[at] ?? 0;
    byProcess.set(process, (byProcess.get(process) ?? 0) + share);
    sum += share;
  }
  const own = byProcess.get(crowd.process) ?? 0;
  const parts = wishes.flatMap(({ process, job }, at): LineShare['parts'] =>
    process === crowd.process && own > 0 ? [[job, (shares[at] ?? 0) / own]] : [],
  );
  const wanted = crowd.ask.demands.reduce((all, demand) => all + amountOf(demand), 0);
  return {
    byProcess,
    spare: Math.max(0, capacity - sum) / (crowd.others.length + 2),
    parts,
    isCut: wanted > own + TINY,
  };
}

/** Rounding error of sums of fractions. */
const TINY = 1e-6;

interface PlacesAnswer {
  readonly granted: number | null;
  readonly parts: LineShare['parts'];
  readonly isCut: boolean;
}

function reservePlaces(crowd: Crowd): PlacesAnswer {
  const limit = crowd.ask.limits.maxConcurrent;
  const division = divide(limit ?? Number.MAX_SAFE_INTEGER, crowd, ({ places }) => places);
  if (limit === null) return { granted: null, parts: division.parts, isCut: false };
  const free = crowd.others.reduce((left, { places }) => left - places, limit);
  const wanted = (wholePlaces(division, crowd).get(crowd.process) ?? 0) + Math.floor(division.spare);
  const granted = Math.max(0, Math.min(wanted, free));
  return { granted, parts: division.parts, isCut: division.isCut };
}

/**
 * Shares as whole numbers. What is left after rounding down goes to processes that have waited for their turn with
 * nothing, then to those that already have a place, so that places do not change hands with every lease. A process that
 * failed to ask again in time comes last: its callers may have given up, and a place reserved for it would stay empty.
 */
function wholePlaces(
  { byProcess }: Division,
  { process, ask, others, known, now }: Crowd,
): ReadonlyMap<string, number> {
  const turnMs = TURN * ask.leaseMs;
  const holders = new Map(others.map((holder) => [holder.process, holder]));
  if (known !== undefined) holders.set(process, known);
  const rows = [...byProcess].map(([name, share]) => {
    const whole = Math.floor(share + TINY);
    const holder = holders.get(name);
    const waitsSince = whole === 0 && share > 0 ? (holder?.waitsSince ?? null) : null;
    return {
      name,
      whole,
      rest: Math.max(0, share - whole),
      dueSince: waitsSince !== null && now - waitsSince >= turnMs ? waitsSince : Number.POSITIVE_INFINITY,
      has: (holder?.places ?? 0) > whole ? 1 : 0,
      isLate: name !== process && holder !== undefined && now > holder.until - (HELD - 1 - GRACE) * ask.leaseMs ? 1 : 0,
    };
  });
  let left = Math.round(rows.reduce((sum, { rest }) => sum + rest, 0) - 0.5 + TINY);
  const order = rows
    .filter(({ rest }) => rest > TINY)
    .sort(
      (a, b) =>
        a.isLate - b.isLate ||
        earlier(a.dueSince, b.dueSince) ||
        b.has - a.has ||
        b.rest - a.rest ||
        (a.name < b.name ? -1 : 1),
    );
  const answer = new Map(rows.map(({ name, whole }) => [name, whole]));
  for (const { name, whole } of order) {
    if (left <= 0) break;
    answer.set(name, whole + 1);
    left -= 1;
  }
  return answer;
}

/** Infinity minus itself is NaN. */
function earlier(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

interface SlotsAnswer {
  readonly grid: SlotGrid | null;
  readonly offsets: readonly number[];
  readonly until: number;
  readonly owed: number;
  readonly parts: LineShare['parts'] | null;
  readonly isCut: boolean;
  readonly againMs: number;
}

function reserveSlots(crowd: Crowd, known: SlotGrid | null, pace: LinePace | null, reachMs: number): SlotsAnswer {
  const { ask, now } = crowd;
  if (pace === null) {
    // Slots of a lifted limit may still be used, and the next limit must keep away from them.
    return { grid: known, offsets: [], until: now, owed: 0, parts: null, isCut: false, againMs: 0 };
  }
  const { spacingMs, each } = pace;
  // A slot that begins while the answer is on its way may be missed.
  const grid = gridFrom(known, pace, now + ask.leaseMs / 100, reachMs);
  const division = divide((each * 1000) / spacingMs, crowd, ({ perSecond }) => perSecond);
  const to = now + reachMs;
  const from = Math.min(Math.max(now, crowd.known?.slotsUntil ?? now), to);
  const rate = (division.byProcess.get(crowd.process) ?? 0) + division.spare;
  const due = ask.demands.length === 0 ? 0 : (rate * (to - from)) / 1000 / each + (crowd.known?.owed ?? 0);
  const free = freeSlots(grid, to);
  const count = Math.max(Math.floor(due + TINY), ask.demands.length > 0 && isNext(crowd) ? 1 : 0);
  const slots = spread(free, count);
  const beyond = freeSlots(grid, to + reachMs + 2 * spacingMs)[free.length];
  const next = free.length > slots.length || beyond === undefined ? to : slotTime(grid, beyond);
  return {
    grid: giveAway(grid, slots),
    offsets: slots.map((slot) => slotTime(grid, slot) - now),
    until: to,
    owed: Math.max(-1, Math.min(1, due - slots.length)),
    parts: division.parts,
    isCut: division.isCut,
    againMs: next - to,
  };
}

/** For fewer slots than processes: whether no other process has waited longer for one. */
function isNext({ process, known, others, now }: Crowd): boolean {
  const since = known === undefined ? now : known.waitsSince;
  if (since === null) return others.every(({ waitsSince }) => waitsSince === null);
  return others.every((other) => {
    if (other.waitsSince === null) return true;
    return other.waitsSince === since ? process < other.process : other.waitsSince > since;
  });
}
