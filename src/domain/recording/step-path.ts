import type { Recording } from './recording.ts';
import { nestedSteps, type Step } from './step.ts';

/** A step and where it is: `4`, `4.then.2`, `login.1` in a sequence. Steps are counted from 1, as people do. */
export interface PlacedStep {
  readonly path: string;
  readonly step: Step;
  /** Steps around it. */
  readonly depth: number;
}

/** Every step, in the order in which they are written; those of sequences come last. */
export function* walkSteps({ steps, sequences }: Pick<Recording, 'steps' | 'sequences'>): Generator<PlacedStep> {
  yield* walkList(steps, '', 0);
  for (const [name, sequence] of Object.entries(sequences)) yield* walkList(sequence, `${name}.`, 0);
}

function* walkList(steps: readonly Step[], prefix: string, depth: number): Generator<PlacedStep> {
  for (const [index, step] of steps.entries()) {
    const path = `${prefix}${index + 1}`;
    yield { path, step, depth };
    for (const [field, inner] of nestedSteps(step)) yield* walkList(inner, `${path}.${field}.`, depth + 1);
  }
}

/** `step 4.then.2 (click)`: how messages name a step. */
export function nameStep(path: string, type: string): string {
  return `step ${path} (${type})`;
}
