import type { StepType } from '../../domain/recording/step.ts';

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

/** A recording may loop: of each step, sums are kept. */
export class StepReport {
  readonly #steps = new Map<string, StepFact>();
  #last: string | null = null;

  /** `alternative`: from 0. */
  note(step: string, type: StepType, ms: number, alternative: number | null): void {
    const known = this.#steps.get(step);
    const matched = alternative === null ? null : alternative + 1;
    const larger = Math.max(known?.alternative ?? 0, matched ?? 0);
    this.#last = step;
    this.#steps.set(step, {
      ...{ step, type, times: (known?.times ?? 0) + 1, ms: Math.round((known?.ms ?? 0) + ms) },
      alternative: larger === 0 ? null : larger,
    });
  }

  get facts(): readonly StepFact[] {
    return [...this.#steps.values()];
  }

  /** The step that was carried out last; null before the first. */
  get last(): string | null {
    return this.#last;
  }
}
