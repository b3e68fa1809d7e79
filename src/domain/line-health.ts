import { MIN_SHARED_PAUSE_MS } from './host-pause.ts';
import { afterRefusal, type HostRate, pacePerSecond } from './host-rate.ts';
import { type LineLimits, NO_LIMITS } from './line-limits.ts';

/**
 * What all processes together have learned about a host from its answers: the pace it can take and whether it is away.
 * It is stored in the book of the host's line, so that many processes slow down, probe and recover like a single one.
 * Times are those of the clock of the reporting process.
 */
export interface LineHealth {
  /** Null until the host refuses requests because there are too many. */
  readonly rate: HostRate | null;
  /** Failures of all processes since the last good answer; when the first and the last of them came. */
  readonly failures: number;
  readonly failingSince: number;
  readonly failedAt: number;
  /** Pauses of the current outage. The host is away while there are any. */
  readonly pauses: number;
  /**
   * No one visits it before then. Longer pauses are kept in `ports/host-pauses.ts`, where an operator can lift them.
   */
  readonly pausedUntil: number;
}

/** What one process has seen since it last asked. Durations count back from the moment of asking. */
export interface LineNews {
  /** Good answers. */
  readonly good: number;
  /** How long ago the last of them came; null if there was none. */
  readonly goodMs: number | null;
  /** The last refusal. */
  readonly refusal: RefusalNews | null;
  /** Failures since the last good answer, and how long ago the first and the last of them came. */
  readonly failures: number;
  readonly failingMs: number;
  readonly failedMs: number;
  /** Pauses of the current outage if one has begun since; otherwise 0. */
  readonly pauses: number;
  /** What is left of a pause that has begun since. */
  readonly pausedMs: number;
}

export interface RefusalNews {
  readonly agoMs: number;
  /** Good answers per second that this process received when it was refused. */
  readonly acceptedPerSecond: number;
  readonly latencyMs: number;
}

/** What a process learns about the host. Durations count from the moment of asking. */
export interface HeardHealth {
  /** Limits that apply in addition to the line's own. */
  readonly limits: LineLimits;
  readonly failures: number;
  readonly failingMs: number;
  readonly pauses: number;
  readonly pausedMs: number;
}

/** The reporting process. */
export interface Reporter {
  readonly now: number;
  /** Requests reserved at the former pace may be sent for this long after it was cut. */
  readonly settleMs: number;
  /** The activity of all processes together, as a multiple of this one's. */
  readonly crowd: number;
}

const WELL: LineHealth = { rate: null, failures: 0, failingSince: 0, failedAt: 0, pauses: 0, pausedUntil: 0 };

/** Null if nothing is known that would not apply to a new host. */
export function withNews(before: LineHealth | null, news: LineNews | null, reporter: Reporter): LineHealth | null {
  const { now } = reporter;
  const known = before ?? WELL;
  const outage = news === null ? known : outageWith(known, news, now);
  // A wrong clock must not pause a host for hours.
  const knownUntil = Math.min(known.pausedUntil, now + MIN_SHARED_PAUSE_MS);
  const pausedMs = Math.min(news?.pausedMs ?? 0, MIN_SHARED_PAUSE_MS);
  const health: LineHealth = {
    rate: rateWith(known.rate, news, reporter),
    failures: outage.failures,
    failingSince: outage.failingSince,
    failedAt: outage.failedAt,
    pauses: outage.pauses,
    pausedUntil: pausedMs > 0 ? Math.max(knownUntil, now + pausedMs) : knownUntil,
  };
  const isWell = health.rate === null && health.failures === 0 && health.pauses === 0 && health.pausedUntil <= now;
  return isWell ? null : health;
}

function rateWith(before: HostRate | null, news: LineNews | null, reporter: Reporter): HostRate | null {
  const { now, settleMs, crowd } = reporter;
  // Otherwise a wrong clock would make later refusals look like those that led to the cut.
  const known = before && { ...before, cutAt: Math.min(before.cutAt, now), good: before.good + (news?.good ?? 0) };
  const refusal = news?.refusal ?? null;
  const rate =
    refusal === null
      ? known
      : afterRefusal(known, {
          now: now - refusal.agoMs,
          acceptedPerSecond: refusal.acceptedPerSecond * crowd,
          latencyMs: refusal.latencyMs,
          settleMs,
        });
  return rate === null || pacePerSecond(rate) === null ? null : rate;
}

function outageWith(known: LineHealth, news: LineNews, now: number): Omit<LineHealth, 'rate' | 'pausedUntil'> {
  // A page requested before the host went away says nothing about it now.
  const isAnswered = news.goodMs !== null && now - news.goodMs >= known.failedAt;
  const before = isAnswered ? WELL : known;
  const pauses = Math.max(before.pauses, news.pauses);
  if (news.failures === 0) return { ...before, pauses };
  return {
    failures: before.failures + news.failures,
    failingSince: before.failures > 0 ? before.failingSince : now - news.failingMs,
    failedAt: Math.max(before.failedAt, now - news.failedMs),
    pauses,
  };
}

/** Null for a host that is well. */
export function hearHealth(health: LineHealth | null, now: number): HeardHealth | null {
  if (health === null) return null;
  const { rate, failures, failingSince, pauses, pausedUntil } = health;
  const pace = rate === null ? null : pacePerSecond(rate);
  return {
    limits: {
      ...NO_LIMITS,
      // A host that is away is probed with one request at a time.
      maxConcurrent: pauses > 0 ? 1 : null,
      requestsPerSecond: pace === null ? null : inSteps(pace),
    },
    failures,
    failingMs: failures > 0 ? Math.max(0, now - failingSince) : 0,
    pauses,
    pausedMs: Math.max(0, pausedUntil - now),
  };
}

/**
 * A pace rises with every good answer. If slots followed each time, those given to different processes would never fit
 * together, and a third of them would be lost.
 */
function inSteps(perSecond: number): number {
  return PACE_STEP ** Math.floor(Math.log(perSecond) / Math.log(PACE_STEP));
}

const PACE_STEP = 1.02;
