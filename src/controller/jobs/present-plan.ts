import type { PlanAnswer, PlanInputsAnswer } from '../../contract/plan-answers.ts';
import { endedOf } from '../../domain/counts.ts';
import type { Estimate } from '../../domain/estimate.ts';
import type { JobForecast } from '../../domain/forecast.ts';
import { PLAN_LIFE_MS } from '../../domain/job-plan.ts';
import type { InputReport } from '../intake/check-inputs.ts';
import { presentFailureGroup } from './failure-groups.ts';
import type { PlanState } from './plan-job.ts';
import { iso } from './present-job.ts';

export function presentPlan({ job, list, isReady, forecast, failures }: PlanState): PlanAnswer {
  const { counts, reason } = job;
  const { isKept, ...inputs } = list;
  return {
    plan_id: job.jobId,
    status: isReady ? 'ready' : 'running',
    scraper_id: job.scraperId,
    inputs,
    sample: {
      items: counts.total,
      finished: endedOf(counts),
      success: counts.success,
      failed: counts.failed,
      skipped: counts.skipped,
      stopped: isReady && job.status !== 'completed' ? (reason?.message ?? `the sample was ${job.status}`) : null,
    },
    forecast: forecast === null ? null : presentForecast(forecast),
    failures: failures.map((group) => presentFailureGroup(job.jobId, group)),
    expires_at: isKept ? null : iso(job.createdAt + PLAN_LIFE_MS),
  };
}

function presentForecast(forecast: JobForecast): NonNullable<PlanAnswer['forecast']> {
  const { durationMs, itemsPerSecond, failureRate, requests, bytes, cost } = forecast;
  return {
    duration_seconds: each(durationMs, (ms) => rounded(ms / 1000)),
    items_per_second: each(itemsPerSecond, rounded),
    failure_rate: each(failureRate, rounded),
    requests,
    bytes,
    cost: cost === null ? null : each(cost, rounded),
  };
}

export function presentInputs(report: InputReport): PlanInputsAnswer {
  const { items, received, bad, duplicates, conflicts } = report;
  return {
    ...{ items, received, bad, duplicates, conflicts },
    bad_lines: report.badLines.map((line) => ({ ...line })),
    conflicting: report.conflicting.map(({ itemId, line, firstLine }) => {
      return { item_id: itemId, line, first_line: firstLine };
    }),
    ignored_columns: [...report.ignoredColumns],
    incomplete: report.isIncomplete,
    compared_ids: report.comparedIds,
  };
}

function each({ expected, low, high }: Estimate, change: (value: number) => number): Estimate {
  return { expected: change(expected), low: change(low), high: change(high) };
}

/** More than three digits would claim more than is known. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
