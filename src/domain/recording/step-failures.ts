import type { FailedStep, FailureType } from '../failure.ts';
import type { FailureGroup } from '../failure-group.ts';

/** How many items of a job failed at one step of its recording. */
export interface StepFailures {
  readonly step: FailedStep;
  readonly count: number;
  /** Most frequent first. */
  readonly types: readonly (readonly [type: FailureType, count: number])[];
}

export interface FailureHistogram {
  /** Most failures first. */
  readonly steps: readonly StepFailures[];
  /** Failures of the job that were not seen at a step: of items that took too long, data that break the schema … */
  readonly elsewhere: number;
}

/** Made of the groups that the ledger counts with every item, so it is exact, and a retried item is in it no more. */
export function failuresByStep(groups: readonly Pick<FailureGroup, 'step' | 'type' | 'count'>[]): FailureHistogram {
  const bySteps = new Map<string, { readonly step: FailedStep; readonly types: Map<FailureType, number> }>();
  let elsewhere = 0;
  for (const { step = null, type, count } of groups) {
    if (step === null) {
      elsewhere += count;
      continue;
    }
    const key = stepKey(step);
    const known = bySteps.get(key) ?? { step, types: new Map<FailureType, number>() };
    known.types.set(type, (known.types.get(type) ?? 0) + count);
    bySteps.set(key, known);
  }
  const steps = [...bySteps.values()].map(({ step, types }) => ({
    step,
    count: [...types.values()].reduce((sum, count) => sum + count, 0),
    types: [...types].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)),
  }));
  return {
    steps: steps.sort((one, other) => other.count - one.count || compareSteps(one.step, other.step)),
    elsewhere,
  };
}

/** The same for what is shown as one step. A recording that was changed may do something else at the same place. */
export function stepKey({ path, label }: FailedStep): string {
  return `${path}\n${label}`;
}

/** In the order of the recording: `4`, `4.then.2`, `10`, and the steps of sequences after that. */
export function compareSteps(one: FailedStep, other: FailedStep): number {
  const [a, b] = [one.path.split('.'), other.path.split('.')];
  for (const [index, part] of a.entries()) {
    const rival = b[index];
    if (rival === undefined) return 1;
    if (part !== rival) return compareParts(part, rival);
  }
  if (b.length > a.length) return -1;
  return one.label < other.label ? -1 : Number(one.label > other.label);
}

/** As they are written in a recording. */
const BRANCHES: readonly string[] = ['then', 'else', 'steps', 'otherwise'];

function compareParts(one: string, other: string): number {
  const [a, b] = [Number(one), Number(other)];
  if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  if (Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
  return BRANCHES.indexOf(one) - BRANCHES.indexOf(other) || (one < other ? -1 : 1);
}
