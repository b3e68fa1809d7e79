import { isRecord } from '../is-record.ts';
import { NESTED_FIELDS } from './step.ts';
import { nameStep } from './step-path.ts';

/** What is wrong with a recording. */
export interface RecordingProblem {
  /** `4.then.2`; null if it is not in a step. */
  readonly step: string | null;
  /** What it says it is; null if it is not in a step. */
  readonly stepType: string | null;
  /** `selectors.0`; empty for the whole step or recording. */
  readonly field: string;
  readonly message: string;
}

/** `step 4.then.2 (click), selectors.0: is empty` */
export function describeProblem({ step, stepType, field, message }: RecordingProblem): string {
  const place = [...(step === null ? [] : [nameStep(step, stepType ?? '?')]), ...(field === '' ? [] : [field])];
  return place.length === 0 ? message : `${place.join(', ')}: ${message}`;
}

type Key = PropertyKey;

/** Finds the step that a place in the document belongs to: the innermost around it. */
export function problemAt(document: unknown, path: readonly Key[], message: string): RecordingProblem {
  let at: unknown = document;
  let numbers = '';
  let innermost: { step: string; stepType: string; length: number } | null = null;
  for (const [index, key] of path.entries()) {
    at = isRecord(at) || Array.isArray(at) ? (at as Record<Key, unknown>)[key] : undefined;
    const isStep = typeof key === 'number' && isStepList(path, index - 1, innermost?.length ?? 0);
    if (!isStep) continue;
    const list = path[index - 1];
    const prefix = innermost !== null ? `${numbers}.${String(list)}.` : index === 2 ? `${String(list)}.` : '';
    numbers = `${prefix}${key + 1}`;
    const type = isRecord(at) && typeof at['type'] === 'string' ? at['type'].slice(0, 40) : '?';
    innermost = { step: numbers, stepType: type, length: index + 1 };
  }
  const field = path
    .slice(innermost?.length ?? 0)
    .join('.')
    .slice(0, 200);
  return { step: innermost?.step ?? null, stepType: innermost?.stepType ?? null, field, message };
}

/** `steps` or `sequences.NAME` of the recording, or a list directly in the step that ends at `from`. */
function isStepList(path: readonly Key[], at: number, from: number): boolean {
  if (from === 0) return (at === 0 && path[0] === 'steps') || (at === 1 && path[0] === 'sequences');
  return at === from && (NESTED_FIELDS as readonly Key[]).includes(path[at] ?? '');
}
