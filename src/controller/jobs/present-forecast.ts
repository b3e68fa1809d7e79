import type { JobForecastAnswer } from '../../contract/forecast-answers.ts';
import { endedOf, finishedOf } from '../../domain/counts.ts';
import type { JobRecord } from '../../domain/job.ts';
import { type JobPace, secondsFor } from '../../domain/job-pace.ts';
import { costOf, NO_PRICES } from '../../domain/prices.ts';
import { totalUsage } from '../../domain/usage.ts';

/** Uses only counters, because it is called for every event of a watched job. */
export function presentForecast(job: JobRecord, pace: JobPace | null): JobForecastAnswer {
  const { status, counts, usage, prices = NO_PRICES } = job;
  const ended = endedOf(counts);
  const itemsLeft = counts.total - finishedOf(counts);
  const left = status === 'in_progress' ? secondsFor(itemsLeft, pace) : null;
  const { requests, bytesUp, bytesDown } = totalUsage(usage);
  /** Null until something is known. Retries of ended items are included in what was used so far. */
  const inAll = (soFar: number | null, parts: number) =>
    ended === 0 || soFar === null ? null : rounded(soFar + (soFar / ended) * itemsLeft, parts);
  return {
    items_per_second: pace === null ? null : rounded(pace.perSecond, 100),
    eta_seconds: left && rounded(left.expected, 10),
    eta_low_seconds: left && rounded(left.low, 10),
    eta_high_seconds: left && rounded(left.high, 10),
    failure_rate: ended === 0 ? null : rounded(counts.failed / ended, 10_000),
    requests_expected: inAll(requests, 1),
    bytes_expected: inAll(bytesUp + bytesDown, 1),
    cost_expected: inAll(costOf(usage, prices), 1_000_000),
  };
}

function rounded(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}
