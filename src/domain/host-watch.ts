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
 * Records what this process does at each host, by job, second by second. It is notified of every request, and hands out
 * each second that is over once. Times are wall-clock milliseconds, because the seconds of several processes are
 * combined.
 */
export class HostWatch {
  readonly #hosts = new Map<string, HostSeen>();

  /** A request starts. False if too many hosts are watched to add this one; then `ended` must not be called for it. */
  started(host: string, job: string, now: number): boolean {
    if (this.#hosts.size >= MAX_WATCHED && !this.#hosts.has(host)) return false;
    this.#job(host, job).started(now);
    return true;
  }

  /** A request that started has ended. */
  ended(host: string, job: string, now: number): void {
    this.#job(host, job).ended(now);
  }

  /** The host wants no requests until then. */
  paused(host: string, now: number, until: number): void {
    if (this.#hosts.size >= MAX_WATCHED && !this.#hosts.has(host)) return;
    const seen = this.#host(host);
    seen.pauses = mergePauses([...seen.pauses, [now, until]]);
  }

  /** Hosts that may have something to report. */
  hosts(): readonly string[] {
    return [...this.#hosts.keys()];
  }

  /** What happened at the host in the seconds before `now` and was not reported yet; null for nothing. */
  take(host: string, now: number): Seen | null {
    const seen = this.#hosts.get(host);
    if (seen === undefined) return null;
    const { pauses } = seen;
    const jobs = new Map<string, JobSeen>();
    for (const [id, job] of seen.jobs) {
      const reported = job.take(now);
      if (reported !== null) jobs.set(id, reported);
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

/** Hosts visited within seconds of each other. Those of a wide crawl are not worth a report each. */
export const MAX_WATCHED = 200;

interface HostSeen {
  pauses: readonly SeenPause[];
  readonly jobs: Map<string, JobWatch>;
}

/** One job at one host: the current second, and those that are over and not reported yet. */
class JobWatch {
  #inside = 0;
  #at = 0;
  #carried = 0;
  #starts = 0;
  #peak = 0;
  #gapMs: number | null = null;
  #marks: number[] = [];
  #lastStartAt: number | null = null;
  #reported: JobSeen = JOB_UNSEEN;
  readonly #over: SeenSecond[] = [];

  /** Whether nothing is under way, nor was in this second, so that it can be forgotten after a `take`. */
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
    // The first ones are kept, and the last of those after them: a busy host must not need a complete list.
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
    const reported = { ...this.#reported, requests: this.#reported.requests + startsIn(seconds), seconds };
    this.#reported = JOB_UNSEEN;
    return reported;
  }

  /** Ends the current second if `now` is in a later one. A clock that goes back stays in the same second. */
  #goTo(now: number): void {
    const at = Math.floor(now / 1000);
    if (at <= this.#at) return;
    if (this.#peak > 0) this.#endSecond();
    // Requests under way are still under way in seconds without a start. For a long time, only the last seconds are
    // reported one by one.
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

  /** Keeps the last seconds one by one; the rest must not grow while reports cannot be sent. */
  #foldOver(): void {
    const from = this.#over.length - WINDOW_SECONDS;
    if (from <= 0) return;
    const old = this.#over.splice(0, from);
    const requests = this.#reported.requests + startsIn(old);
    this.#reported = foldUntil({ ...this.#reported, requests, seconds: old }, Number.POSITIVE_INFINITY, []);
  }
}

function startsIn(seconds: readonly SeenSecond[]): number {
  return seconds.reduce((sum, { starts }) => sum + starts, 0);
}
