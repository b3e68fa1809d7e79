import {
  foldUntil,
  JOB_UNSEEN,
  type JobSeen,
  mergePauses,
  type Seen,
  type SeenPause,
  type SeenSecond,
  smaller,
  trimMarks,
  WINDOW_SECONDS,
} from './compliance.ts';

/**
 * What this process does at each host, by job, second by second. It is told of every request, and hands out the seconds
 * that are over, each of them once. Times are those of the wall clock, in milliseconds, because the seconds of several
 * processes are put together.
 */
export class HostWatch {
  readonly #hosts = new Map<string, HostSeen>();

  /** A request starts. False if so many hosts are watched that this one is not; then its end is not to be told. */
  started(host: string, job: string, now: number): boolean {
    if (this.#hosts.size >= MAX_WATCHED && !this.#hosts.has(host)) return false;
    this.#job(host, job).started(now);
    return true;
  }

  /** A request that started has ended. */
  ended(host: string, job: string, now: number): void {
    this.#job(host, job).ended(now);
  }

  /** The host wants no request until then. */
  paused(host: string, now: number, until: number): void {
    if (this.#hosts.size >= MAX_WATCHED && !this.#hosts.has(host)) return;
    const seen = this.#host(host);
    seen.pauses = mergePauses([...seen.pauses, [now, until]]);
  }

  /** Hosts of which there may be something to tell. */
  hosts(): readonly string[] {
    return [...this.#hosts.keys()];
  }

  /** What happened at the host in the seconds before `now` and was not told yet; null for nothing. */
  take(host: string, now: number): Seen | null {
    const seen = this.#hosts.get(host);
    if (seen === undefined) return null;
    const { pauses } = seen;
    const jobs = new Map<string, JobSeen>();
    for (const [id, job] of seen.jobs) {
      const told = job.take(now);
      if (told !== null) jobs.set(id, told);
      if (job.isIdle) seen.jobs.delete(id);
    }
    seen.pauses = [];
    if (seen.jobs.size === 0) this.#hosts.delete(host);
    return pauses.length === 0 && jobs.size === 0 ? null : { pauses, jobs };
  }

  #host(name: string): HostSeen {
    const known = this.#hosts.get(name);
    if (known !== undefined) return known;
    const host: HostSeen = { pauses: [], jobs: new Map() };
    this.#hosts.set(name, host);
    return host;
  }

  #job(host: string, id: string): JobWatch {
    const { jobs } = this.#host(host);
    const known = jobs.get(id);
    if (known !== undefined) return known;
    const job = new JobWatch();
    jobs.set(id, job);
    return job;
  }
}

/** Hosts that are visited within seconds of each other. Those of a wide crawl are not worth a report each. */
export const MAX_WATCHED = 200;

interface HostSeen {
  pauses: readonly SeenPause[];
  readonly jobs: Map<string, JobWatch>;
}

/** One job at one host: the second that is under way, and those that are over and not told yet. */
class JobWatch {
  #inside = 0;
  #at = 0;
  #carried = 0;
  #starts = 0;
  #peak = 0;
  #gapMs: number | null = null;
  #marks: number[] = [];
  #lastStartAt: number | null = null;
  #told: JobSeen = JOB_UNSEEN;
  readonly #over: SeenSecond[] = [];

  /** Nothing is under way, in this second neither, so that it can be forgotten after a `take`. */
  get isIdle(): boolean {
    return this.#inside === 0 && this.#peak === 0;
  }

  started(now: number): void {
    this.#goTo(now);
    this.#inside += 1;
    this.#starts += 1;
    this.#peak = Math.max(this.#peak, this.#inside);
    if (this.#lastStartAt !== null) this.#gapMs = smaller(this.#gapMs, Math.max(0, now - this.#lastStartAt));
    this.#lastStartAt = now;
    this.#marks.push(now);
    // The first are kept, and the last ones of what comes after them: a busy host must not need a list of all.
    if (this.#marks.length > 64) this.#marks = [...trimMarks(this.#marks)];
  }

  ended(now: number): void {
    this.#goTo(now);
    this.#inside -= 1;
  }

  take(now: number): JobSeen | null {
    this.#goTo(now);
    this.#foldOver();
    const seconds = this.#over.splice(0);
    if (seconds.length === 0) return null;
    const told = { ...this.#told, requests: this.#told.requests + startsIn(seconds), seconds };
    this.#told = JOB_UNSEEN;
    return told;
  }

  /** Ends the second that is under way if `now` is in a later one. A clock that goes back stays in the same second. */
  #goTo(now: number): void {
    const at = Math.floor(now / 1000);
    if (at <= this.#at) return;
    if (this.#peak > 0) this.#endSecond();
    // In seconds without a start, what is under way is still under way. Of a long time only the end is told one by one.
    if (this.#inside > 0) {
      for (let second = Math.max(this.#at + 1, at - WINDOW_SECONDS); second < at; second++)
        this.#over.push(this.#still(second));
    }
    this.#at = at;
    this.#carried = this.#inside;
    this.#peak = this.#inside;
    if (this.#over.length > 2 * WINDOW_SECONDS) this.#foldOver();
  }

  #endSecond(): void {
    this.#over.push({
      at: this.#at,
      starts: this.#starts,
      peak: this.#peak,
      solo: this.#peak,
      carried: this.#carried,
      gapMs: this.#gapMs,
      marks: trimMarks(this.#marks),
    });
    this.#starts = 0;
    this.#gapMs = null;
    this.#marks = [];
  }

  #still(at: number): SeenSecond {
    const inside = this.#inside;
    return { at, starts: 0, peak: inside, solo: inside, carried: inside, gapMs: null, marks: [] };
  }

  /** Keeps the last seconds one by one: while reports cannot be made, the rest must not grow. */
  #foldOver(): void {
    const from = this.#over.length - WINDOW_SECONDS;
    if (from <= 0) return;
    const old = this.#over.splice(0, from);
    const requests = this.#told.requests + startsIn(old);
    this.#told = foldUntil({ ...this.#told, requests, seconds: old }, Number.POSITIVE_INFINITY, []);
  }
}

function startsIn(seconds: readonly SeenSecond[]): number {
  return seconds.reduce((sum, { starts }) => sum + starts, 0);
}
