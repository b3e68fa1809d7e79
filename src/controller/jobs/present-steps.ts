import type { WarningAnswer } from '../../contract/problem-answer.ts';
import type { JobStepAnswer, JobStepsAnswer } from '../../contract/step-answers.ts';
import type { FailureType } from '../../domain/failure.ts';
import type { FailureGroup } from '../../domain/failure-group.ts';
import { describeDrift, driftOf, findDrift } from '../../domain/recording/drift.ts';
import { compareSteps, failuresByStep, type StepFailures, stepKey } from '../../domain/recording/step-failures.ts';
import { quantileMs, type Spans } from '../../domain/recording/step-spans.ts';
import { type JobSteps, OTHER_STEPS, type StepStatistics } from '../../domain/recording/step-statistics.ts';

/** Failing steps beyond those that have statistics; the rest are added up. */
const MAX_FAILING = 40;

/** Null for a job that saw nothing of any step. `groups`: all groups of its failures. */
export function presentSteps(steps: JobSteps, groups: readonly FailureGroup[]): JobStepsAnswer | null {
  const { steps: failing, elsewhere } = failuresByStep(groups);
  if (steps.length === 0 && failing.length === 0) return null;
  const failed = elsewhere + failing.reduce((sum, { count }) => sum + count, 0);
  const rows = new Map<string, Row>();
  for (const seen of steps) rows.set(stepKey(seen.step), { step: seen.step, seen, types: NO_TYPES });
  let room = MAX_FAILING;
  for (const each of failing) {
    const isSeen = rows.get(stepKey(each.step))?.seen != null;
    if (!isSeen) room -= 1;
    const step = isSeen || room >= 0 ? each.step : OTHER_STEPS;
    const row = rows.get(stepKey(step)) ?? { step, seen: null, types: NO_TYPES };
    rows.set(stepKey(step), { ...row, types: addTypes(row.types, each) });
  }
  return {
    steps: [...rows.values()].sort((a, b) => compareSteps(a.step, b.step)).map((row) => presentStep(row, failed)),
    failures_elsewhere: elsewhere,
  };
}

/** What should be repaired before items fail. */
export function driftWarnings(steps: JobSteps): readonly WarningAnswer[] {
  return findDrift(steps).map((drift) => ({
    path: `steps.${drift.step.path}`,
    code: 'selector_drift',
    message: describeDrift(drift),
  }));
}

type Types = ReadonlyMap<FailureType, number>;

interface Row {
  readonly step: StepStatistics['step'];
  readonly seen: StepStatistics | null;
  readonly types: Types;
}

const NO_TYPES: Types = new Map();

function addTypes(known: Types, { types }: StepFailures): Types {
  const sum = new Map(known);
  for (const [type, count] of types) sum.set(type, (sum.get(type) ?? 0) + count);
  return sum;
}

function presentStep({ step, seen, types }: Row, failed: number): JobStepAnswer {
  const failures = [...types.values()].reduce((sum, count) => sum + count, 0);
  const drift = seen === null ? null : driftOf(seen);
  return {
    step: step.path === OTHER_STEPS.path ? 'other' : step.path,
    description: step.label,
    items: seen?.items ?? 0,
    times: seen?.spans.count ?? 0,
    duration_ms: seen === null ? null : presentSpans(seen.spans),
    failures,
    failures_pct: failed === 0 ? 0 : Math.round((failures / failed) * 1000) / 10,
    failure_types: [...types].sort(([, a], [, b]) => b - a).map(([type, count]) => ({ type, count })),
    selectors: (seen?.selectors ?? []).map((selector, index) => ({ selector, matched: seen?.matched[index] ?? 0 })),
    drift: drift === null ? null : describeDrift(drift),
  };
}

function presentSpans(spans: Spans): JobStepAnswer['duration_ms'] {
  const { count, totalMs, longestMs } = spans;
  if (count === 0) return null;
  const [p50, p90] = [quantileMs(spans, 0.5) ?? 0, quantileMs(spans, 0.9) ?? 0];
  return { mean: Math.round(totalMs / count), p50, p90, max: longestMs };
}
