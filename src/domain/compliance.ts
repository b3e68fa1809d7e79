/**
 * What jobs really did at a host, as processes report it and as it is kept: a record per host, merged from the reports of
 * all processes. Recent seconds are kept one by one, because several processes report the same second; older ones are
 * folded into the worst that was seen.
 *
 * How exact it is:
 *   requests                exact
 *   rates                   exact per calendar second
 *   concurrency             between two bounds: what was certainly under way at a time, and the sum of what each process
 *                           had at its busiest moment of the same second
 *   gaps between requests   exact within a process; between processes exact while the host gets at most `MARKS` requests
 *                           per second, beyond that only among the first and last of each second
 *
 * Merging is commutative. It is associative, and no peak is understated, as long as the seconds of all reports lie within
 * `WINDOW_SECONDS`, and the host has no more jobs and pauses than are kept. A report that comes later still counts in
 * the sums, but its second is no longer added to that of the others.
 */

/** Reports come every few seconds, and one that was delayed should still find the seconds of the others. */
export const WINDOW_SECONDS = 20;

/** Over all jobs of a host, so that its record stays small: about 30 bytes each. */
export const MAX_SECONDS = 120;

/** If more jobs visit the same host, the record keeps the most recent ones. */
export const MAX_JOBS = 16;

export const MAX_PAUSES = 8;

/** Start times kept per second: all of them, or the first and last. */
export const MARKS = 8;

/**
 * The longest time over which a rate is measured: shares of a host's limit move between processes every few seconds.
 */
const TEN = 10;

/** One second of one job at one host. */
export interface SeenSecond {
  /** In seconds since 1970. */
  readonly at: number;
  readonly starts: number;
  /** The highest concurrency of each process in this second, added up. */
  readonly peak: number;
  /** The highest concurrency of a single process. */
  readonly solo: number;
  /** Requests under way when the second began, in all processes. */
  readonly carried: number;
  /** Shortest time between two starts of one process, the later of them in this second; null if there is no such pair. */
  readonly gapMs: number | null;
  /** When requests started, in milliseconds since 1970, in order. */
  readonly marks: readonly number[];
}

/** The worst of many seconds. */
export interface Worst {
  readonly perSecond: number;
  readonly perTenSeconds: number;
  readonly atLeastConcurrent: number;
  readonly atMostConcurrent: number;
  readonly gapMs: number | null;
  /** Requests that started while the host was paused. */
  readonly duringPause: number;
  /** Shortest time from the end of a pause to the next request; null if none came. */
  readonly afterPauseMs: number | null;
}

export interface JobSeen {
  readonly requests: number;
  /** The worst of the folded seconds. */
  readonly worst: Worst;
  /** The last request in the folded seconds. */
  readonly lastStartAt: number | null;
  /** Requests in each of the most recently folded seconds: rates over ten seconds reach back to them. */
  readonly tail: readonly (readonly [at: number, starts: number])[];
  /** By time. */
  readonly seconds: readonly SeenSecond[];
}

/** When a host began and stopped wanting no requests. */
export type SeenPause = readonly [from: number, until: number];

export interface Seen {
  /** In order of time, without overlaps. */
  readonly pauses: readonly SeenPause[];
  readonly jobs: ReadonlyMap<string, JobSeen>;
}

export const NOTHING_WORSE: Worst = {
  perSecond: 0,
  perTenSeconds: 0,
  atLeastConcurrent: 0,
  atMostConcurrent: 0,
  gapMs: null,
  duringPause: 0,
  afterPauseMs: null,
};

export const JOB_UNSEEN: JobSeen = {
  requests: 0,
  worst: NOTHING_WORSE,
  lastStartAt: null,
  tail: [],
  seconds: [],
};

export const NOTHING_SEEN: Seen = { pauses: [], jobs: new Map() };

/** Combines two records of different processes or different times. */
export function mergeSeen(a: Seen, b: Seen): Seen {
  const pauses = mergePauses([...a.pauses, ...b.pauses]);
  const jobs = new Map(a.jobs);
  for (const [id, theirs] of b.jobs) {
    const ours = jobs.get(id);
    jobs.set(id, ours === undefined ? theirs : mergeJobs(ours, theirs));
  }
  return { pauses, jobs: foldOld(latestJobs(jobs), pauses) };
}

/** The worst that was seen of a job at a host. */
export function worstOf(job: JobSeen, pauses: readonly SeenPause[]): Worst {
  return foldUntil(job, Number.POSITIVE_INFINITY, pauses).worst;
}

function mergeWorst(a: Worst, b: Worst): Worst {
  return {
    perSecond: Math.max(a.perSecond, b.perSecond),
    perTenSeconds: Math.max(a.perTenSeconds, b.perTenSeconds),
    atLeastConcurrent: Math.max(a.atLeastConcurrent, b.atLeastConcurrent),
    atMostConcurrent: Math.max(a.atMostConcurrent, b.atMostConcurrent),
    gapMs: smaller(a.gapMs, b.gapMs),
    duringPause: a.duringPause + b.duringPause,
    afterPauseMs: smaller(a.afterPauseMs, b.afterPauseMs),
  };
}

/** Folds all seconds before `second`. */
export function foldUntil(job: JobSeen, second: number, pauses: readonly SeenPause[]): JobSeen {
  const kept = job.seconds.findIndex(({ at }) => at >= second);
  const old = kept === -1 ? job.seconds : job.seconds.slice(0, kept);
  if (old.length === 0) return job;
  let { worst, lastStartAt, tail } = job;
  for (const each of old) {
    tail = addToTail(tail, each.at, each.starts);
    worst = mergeWorst(worst, {
      perSecond: each.starts,
      perTenSeconds: busiestTen(tail),
      atLeastConcurrent: Math.max(each.carried, each.solo),
      atMostConcurrent: each.peak,
      gapMs: smallestGap(each, lastStartAt),
      duringPause: startsDuring(each, pauses),
      afterPauseMs: soonestAfter(each, pauses),
    });
    lastStartAt = later(lastStartAt, each.marks.at(-1) ?? null);
  }
  return { ...job, worst, lastStartAt, tail, seconds: kept === -1 ? [] : job.seconds.slice(kept) };
}

/** The first and last of these start times, in order. */
export function trimMarks(sorted: readonly number[]): readonly number[] {
  if (sorted.length <= MARKS) return sorted;
  return [...sorted.slice(0, MARKS / 2), ...sorted.slice(-MARKS / 2)];
}

export function mergePauses(pauses: readonly SeenPause[]): readonly SeenPause[] {
  const merged: SeenPause[] = [];
  for (const [from, until] of pauses.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last === undefined || last[1] < from) merged.push([from, until]);
    else merged[merged.length - 1] = [last[0], Math.max(last[1], until)];
  }
  return merged.slice(-MAX_PAUSES);
}

function mergeJobs(a: JobSeen, b: JobSeen): JobSeen {
  const tail = b.tail.reduce((tail, [at, starts]) => addToTail(tail, at, starts), a.tail);
  const worst = mergeWorst(a.worst, b.worst);
  return {
    requests: a.requests + b.requests,
    worst: { ...worst, perTenSeconds: Math.max(worst.perTenSeconds, busiestTen(tail)) },
    lastStartAt: later(a.lastStartAt, b.lastStartAt),
    tail,
    seconds: mergeSeconds(a.seconds, b.seconds),
  };
}

function mergeSeconds(a: readonly SeenSecond[], b: readonly SeenSecond[]): readonly SeenSecond[] {
  const merged = new Map(a.map((second) => [second.at, second]));
  for (const theirs of b) {
    const ours = merged.get(theirs.at);
    merged.set(theirs.at, ours === undefined ? theirs : mergeSecond(ours, theirs));
  }
  return [...merged.values()].sort((x, y) => x.at - y.at);
}

function mergeSecond(a: SeenSecond, b: SeenSecond): SeenSecond {
  return {
    at: a.at,
    starts: a.starts + b.starts,
    peak: a.peak + b.peak,
    solo: Math.max(a.solo, b.solo),
    carried: a.carried + b.carried,
    gapMs: smaller(a.gapMs, b.gapMs),
    marks: trimMarks([...a.marks, ...b.marks].sort((x, y) => x - y)),
  };
}

function latestJobs(jobs: ReadonlyMap<string, JobSeen>): ReadonlyMap<string, JobSeen> {
  if (jobs.size <= MAX_JOBS) return jobs;
  const byLast = [...jobs].sort(([idA, a], [idB, b]) => lastSecond(b) - lastSecond(a) || (idA < idB ? -1 : 1));
  return new Map(byLast.slice(0, MAX_JOBS));
}

function lastSecond({ seconds, lastStartAt }: JobSeen): number {
  return seconds.at(-1)?.at ?? (lastStartAt ?? 0) / 1000;
}

/** Folds what is older than the window, and more of it while the host has too many seconds. */
function foldOld(jobs: ReadonlyMap<string, JobSeen>, pauses: readonly SeenPause[]): ReadonlyMap<string, JobSeen> {
  const times = [...jobs.values()].flatMap(({ seconds }) => seconds.map(({ at }) => at)).sort((a, b) => b - a);
  const newest = times[0];
  if (newest === undefined) return jobs;
  const from = Math.max(newest - WINDOW_SECONDS + 1, times.length > MAX_SECONDS ? (times[MAX_SECONDS] ?? 0) + 1 : 0);
  return new Map([...jobs].map(([id, job]) => [id, withoutOldTail(foldUntil(job, from, pauses), newest)]));
}

/** Jobs that no longer visit the host are kept as small as possible. */
function withoutOldTail(job: JobSeen, newest: number): JobSeen {
  const last = job.tail.at(-1)?.[0] ?? newest;
  return last < newest - 2 * WINDOW_SECONDS ? { ...job, tail: [] } : job;
}

function addToTail(tail: JobSeen['tail'], at: number, starts: number): JobSeen['tail'] {
  const known = new Map(tail);
  known.set(at, (known.get(at) ?? 0) + starts);
  const newest = Math.max(...known.keys());
  return [...known].filter(([second]) => second > newest - TEN).sort((a, b) => a[0] - b[0]);
}

/** A tail is never longer than ten seconds. */
function busiestTen(tail: JobSeen['tail']): number {
  return tail.reduce((sum, [, starts]) => sum + starts, 0);
}

function smallestGap({ gapMs, marks }: SeenSecond, lastStartAt: number | null): number | null {
  let smallest = gapMs;
  let before = lastStartAt;
  for (const mark of marks) {
    // A late report may be about a time before the last folded second.
    if (before !== null && mark >= before) smallest = smaller(smallest, mark - before);
    before = mark;
  }
  return smallest;
}

function startsDuring({ at, starts, marks }: SeenSecond, pauses: readonly SeenPause[]): number {
  let during = 0;
  for (const [from, until] of pauses) {
    const isWhole = from <= at * 1000 && until >= (at + 1) * 1000;
    if (isWhole) return starts;
    during += marks.filter((mark) => mark > from && mark < until).length;
  }
  return during;
}

function soonestAfter({ marks }: SeenSecond, pauses: readonly SeenPause[]): number | null {
  let soonest: number | null = null;
  for (const mark of marks) {
    const before = pauses.findLast(([from]) => from < mark);
    if (before !== undefined && mark >= before[1]) soonest = smaller(soonest, mark - before[1]);
  }
  return soonest;
}

export function smaller(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

function later(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}
