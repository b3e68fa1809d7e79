import type { JobForecastAnswer } from '../../contract/forecast-answers.ts';
import { endedOf, finishedOf } from '../../domain/counts.ts';
import type { JobRecord } from '../../domain/job.ts';
import { type JobPace, secondsFor } from '../../domain/job-pace.ts';

/** From counters alone: it is made for every event of a watched job. */
export function presentForecast({ status, counts }: JobRecord, pace: JobPace | null): JobForecastAnswer {
  const ended = endedOf(counts);
  const left = status === 'in_progress' ? secondsFor(counts.total - finishedOf(counts), pace) : null;
  return {
    items_per_second: pace === null ? null : rounded(pace.perSecond, 100),
    eta_seconds: left && rounded(left.expected, 10),
    eta_low_seconds: left && rounded(left.low, 10),
    eta_high_seconds: left && rounded(left.high, 10),
    failure_rate: ended === 0 ? null : rounded(counts.failed / ended, 10_000),
  };
}

function rounded(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}
