import { describeStep } from '../../domain/recording/describe-step.ts';
import type { Selectors } from '../../domain/recording/selector.ts';
import type { Step, StepType } from '../../domain/recording/step.ts';
import { addSpan, NO_SPANS, type Spans } from '../../domain/recording/step-spans.ts';
import { nameSelectors, type SeenStep } from '../../domain/recording/step-statistics.ts';

/** What was seen of each step of a recording while an item was carried out; it becomes part of `metadata.json`. */
export interface StepFact {
  /** `4`, or `4.then.2` inside of another step. */
  readonly step: string;
  readonly type: StepType;
  /** How often it was carried out. */
  readonly times: number;
  readonly ms: number;
  /** Number of the alternative that matched, from 1; the largest where several did. Null for a step without any. */
  readonly alternative: number | null;
}

interface Noted {
  readonly step: Step;
  readonly spans: Spans;
  /** From 0. */
  readonly alternative: number | null;
}

/** A recording may loop: of each step, sums are kept. */
export class StepReport {
  readonly #steps = new Map<string, Noted>();
  #last: string | null = null;

  /** `alternative`: from 0. `step` as it is in the recording, so that it is the same for all items. */
  note(path: string, step: Step, ms: number, alternative: number | null): void {
    const known = this.#steps.get(path);
    const larger = Math.max(known?.alternative ?? -1, alternative ?? -1);
    this.#last = path;
    this.#steps.set(path, {
      step,
      spans: addSpan(known?.spans ?? NO_SPANS, ms),
      alternative: larger < 0 ? null : larger,
    });
  }

  get facts(): readonly StepFact[] {
    return [...this.#steps].map(([path, { step, spans, alternative }]) => ({
      ...{ step: path, type: step.type, times: spans.count, ms: spans.totalMs },
      alternative: alternative === null ? null : alternative + 1,
    }));
  }

  /** The same for the statistics of the job. */
  get seen(): readonly SeenStep[] {
    return [...this.#steps].map(([path, { step, spans, alternative }]) => ({
      ...{ step: { path, label: labelOf(step) }, selectors: selectorsOf(step), spans, alternative },
    }));
  }

  /** The step that was carried out last; null before the first. */
  get last(): string | null {
    return this.#last;
  }
}

/** Steps are the same objects for every item of a job. */
const LABELS = new WeakMap<Step, string>();
const SELECTORS = new WeakMap<Step, readonly string[]>();

function labelOf(step: Step): string {
  const label = LABELS.get(step) ?? describeStep(step);
  LABELS.set(step, label);
  return label;
}

function selectorsOf(step: Step): readonly string[] {
  const names = SELECTORS.get(step) ?? nameSelectors('selectors' in step ? (step.selectors as Selectors) : undefined);
  SELECTORS.set(step, names);
  return names;
}
