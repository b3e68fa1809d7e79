import { type Estimate, estimateMean, estimateShare, meanOf } from './estimate.ts';

/**
 * What a job will take, predicted from a sample of its items that ran under the same policy. It assumes that the site
 * behaves as it did then: blocks, outages and slower nights are not included.
 */

/** A finished item of the sample. */
export interface SampledItem {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly isFailed: boolean;
  /** Null if it was not recorded. */
  readonly usage: SampledUsage | null;
}

interface SampledUsage {
  readonly requests: number;
  /** Sent and received. */
  readonly bytes: number;
}

/** What bounds the pace of the job. */
export interface PaceLimits {
  readonly concurrency: number;
  /** Between dispatching one item and the next. */
  readonly delayMs: number;
  /** Request limit of the job or of its host, whichever is lower; null for no limit. */
  readonly requestsPerSecond: number | null;
}

export interface JobForecast {
  readonly durationMs: Estimate;
  readonly itemsPerSecond: Estimate;
  /** A share, from 0 to 1. */
  readonly failureRate: Estimate;
  /** Null if requests were not recorded. */
  readonly requests: Estimate | null;
  readonly bytes: Estimate | null;
  /** In the currency of the configured prices; null if there are none. */
  readonly cost: Estimate | null;
}

/** Null for a sample without a finished item. */
export function forecastJob(
  sample: readonly SampledItem[],
  total: number,
  limits: PaceLimits,
  { costPerByte, chance }: { readonly costPerByte: number | null; readonly chance: () => number },
): JobForecast | null {
  if (sample.length === 0) return null;
  const usages = sample.flatMap(({ usage }) => usage ?? []);
  const sumOf = (amount: (usage: SampledUsage) => number): Estimate | null => {
    if (usages.length < sample.length) return null;
    const options = { total, chance, leastSpread: LEAST_SPREAD.usage };
    return times(estimateMean(usages.map(amount), options), total);
  };
  const requests = sumOf((usage) => usage.requests);
  const bytes = sumOf((usage) => usage.bytes);
  const durationMs = estimateDuration(
    sample,
    total,
    { ...limits, intervalMs: interval(limits, requests, total) },
    chance,
  );
  return {
    durationMs,
    itemsPerSecond: perSecond(durationMs, total),
    failureRate: estimateShare(sample.filter(({ isFailed }) => isFailed).length, sample.length),
    requests: rounded(requests),
    bytes: rounded(bytes),
    cost: bytes === null || costPerByte === null ? null : times(bytes, costPerByte),
  };
}

/**
 * See `MeanOptions`: a sample of 20 has at least 11 % and 45 %. Time varies with what else the
 * machine and the site are doing, requests and bytes only with the items.
 */
const LEAST_SPREAD = { usage: 0.5, time: 2 };

/** The minimum time between two items, for the expected, a low and a high number of requests per item. */
type Interval = Estimate;

function interval({ delayMs, requestsPerSecond }: PaceLimits, requests: Estimate | null, total: number): Interval {
  const between = (requestsOfItem: number) =>
    Math.max(delayMs, requestsPerSecond === null ? 0 : (1000 * requestsOfItem) / requestsPerSecond);
  const { expected, low, high } = requests === null ? ONE_EACH : times(requests, 1 / Math.max(1, total));
  return { expected: between(expected), low: between(low), high: between(high) };
}

const ONE_EACH: Estimate = { expected: 1, low: 1, high: 1 };

/**
 * `slots` items at a time, each occupying a slot for its turn, and no faster than the pace allows. The first items
 * found nothing warmed up (code, names, connections): they count once, and not for the rate, if there are enough
 * others.
 */
function estimateDuration(
  sample: readonly SampledItem[],
  total: number,
  { concurrency, intervalMs }: PaceLimits & { readonly intervalMs: Interval },
  chance: () => number,
): Estimate {
  const slots = Math.max(1, Math.min(concurrency, total));
  const turns = turnsOf(sample, slots);
  const isWarmEnough = turns.warm.length >= LEAST_WARM;
  const counted = isWarmEnough ? turns.warm : turns.all;
  const options = { total, chance, leastSpread: LEAST_SPREAD.time };
  const turn = estimateMean(counted, options);
  // If the sample became faster or slower on the way, the job will resemble its later half.
  const late = meanOf(counted.slice(Math.floor(counted.length / 2)));
  const durations = sample.map(({ durationMs }) => durationMs);
  const startMs = isWarmEnough ? Math.max(0, meanOf(turns.cold) - meanOf(turns.warm)) : 0;
  const within = (turnMs: number, pausesMs: number) => Math.max((turnMs * total) / slots, pausesMs * (total - 1));
  // Towards the end, slots stay empty.
  const lastMs = total <= slots ? 0 : meanOf(durations) / 2;
  const expected = within(turn.expected, intervalMs.expected) + startMs + lastMs;
  const least = LEAST_SPREAD.time / Math.sqrt(sample.length);
  return {
    expected,
    low: Math.min(within(whenWarm(Math.min(turn.low, late / (1 + least))), intervalMs.low), expected / (1 + least)),
    high: Math.max(
      within(Math.max(turn.high, late * (1 + least)), intervalMs.high) + startMs + Math.max(...durations),
      expected * (1 + least),
    ),
  };
}

const LEAST_WARM = 8;

/**
 * A process becomes faster over hundreds of items, as its code is compiled, and a sample is over before that. It can save only
 * what our own work takes. Without it, 2,000 parcels of the demo county took 0.75 and 0.8 of the low end.
 */
function whenWarm(turnMs: number): number {
  return Math.max(turnMs / 1.5, turnMs - 50);
}

interface Turns {
  /** Turns of items that began after every slot had finished one; the others are cold. */
  readonly warm: readonly number[];
  readonly cold: readonly number[];
  readonly all: readonly number[];
}

/**
 * How long each item occupied a slot: its duration, plus the time the slot was empty before it. The k-th item could
 * begin when all but `slots` - 1 of the items before it had ended.
 */
function turnsOf(sample: readonly SampledItem[], slots: number): Turns {
  const begun = sample.toSorted((one, other) => one.startedAt - other.startedAt);
  const ends = begun.map(({ startedAt, durationMs }) => startedAt + durationMs).sort((one, other) => one - other);
  const all = begun.map(({ startedAt, durationMs }, at) => {
    const freeAt = at < slots ? startedAt : (ends[at - slots] ?? startedAt);
    return durationMs + Math.max(0, startedAt - freeAt);
  });
  return { all, cold: all.slice(0, slots), warm: all.slice(slots) };
}

function perSecond({ expected, low, high }: Estimate, total: number): Estimate {
  const rate = (ms: number) => (1000 * total) / Math.max(1, ms);
  return { expected: rate(expected), low: rate(high), high: rate(low) };
}

function times({ expected, low, high }: Estimate, factor: number): Estimate {
  return { expected: expected * factor, low: low * factor, high: high * factor };
}

/** Requests and bytes are whole numbers. */
function rounded(estimate: Estimate | null): Estimate | null {
  if (estimate === null) return null;
  const { expected, low, high } = estimate;
  return { expected: Math.round(expected), low: Math.floor(low), high: Math.ceil(high) };
}
