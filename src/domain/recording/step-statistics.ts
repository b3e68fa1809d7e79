import { clipStep, type FailedStep } from '../failure.ts';
import { isRecord } from '../is-record.ts';
import { LIMITS } from './limits.ts';
import type { Selectors } from './selector.ts';
import { compareSteps, stepKey } from './step-failures.ts';
import { mergeSpans, type Spans } from './step-spans.ts';

/**
 * What is seen of the steps of a recording while a job runs: how long each takes, and which of its selectors match. It is
 * for people and decides nothing: processes add up what they see and report it every few seconds, and what a process saw
 * in its last seconds is lost when it is killed.
 *
 * Merging is commutative and associative, and no item is lost by it: only times of the past become coarser, and steps
 * beyond `MAX_STEPS` are added up.
 */

/** What was seen of a step while one item was carried out. */
export interface SeenStep {
  readonly step: FailedStep;
  /** Its alternatives, as they are written in the recording; empty for a step without any. */
  readonly selectors: readonly string[];
  /** How long it took, each time it was carried out. */
  readonly spans: Spans;
  /** Which alternative matched, from 0; the last one if it was carried out several times. Null if none did. */
  readonly alternative: number | null;
}

/** Whether a scraper that is not type-checked returned one. */
export function isSeenStep(value: unknown): value is SeenStep {
  if (!isRecord(value)) return false;
  const { step, selectors, spans, alternative } = value;
  return (
    isRecord(step) &&
    typeof step['path'] === 'string' &&
    typeof step['label'] === 'string' &&
    Array.isArray(selectors) &&
    selectors.every((each) => typeof each === 'string') &&
    isRecord(spans) &&
    spans['sizes'] instanceof Map &&
    [spans['count'], spans['totalMs'], spans['longestMs'], alternative ?? 0].every(Number.isSafeInteger)
  );
}

/** The same for all items of a job. */
export interface StepStatistics {
  readonly step: FailedStep;
  readonly selectors: readonly string[];
  /** Items for which it was carried out. */
  readonly items: number;
  readonly spans: Spans;
  /** Items by the alternative that matched. */
  readonly matched: readonly number[];
  /** What matched at which time, oldest first. The first of them stands for all that was before. */
  readonly slices: readonly MatchSlice[];
}

/** One minute, or the first of several. */
interface MatchSlice {
  /** In minutes since 1970. */
  readonly minute: number;
  /** Items in which an alternative matched. */
  readonly items: number;
  /** How many of those the first alternative did not match. */
  readonly missed: number;
}

/** In the order of the recording. */
export type JobSteps = readonly StepStatistics[];

export const NO_STEPS: JobSteps = [];

/** Real recordings have tens of steps; the record of a job should stay at a few kilobytes. */
export const MAX_STEPS = 60;

/** Alternatives that are counted one by one; those after them are counted as the last of these. */
export const MAX_COUNTED = 5;

export const MAX_SELECTOR_LENGTH = 60;

export const MAX_SLICES = 8;

/** Stands for all steps that are not listed; an item counts once for each of them. Its path is not one of a step, and comes after all of them. */
export const OTHER_STEPS: FailedStep = { path: '~', label: 'all other steps' };

/** As statistics name selectors: a path through shadow roots is written with `>>>`. */
export function nameSelectors(selectors: Selectors | undefined): readonly string[] {
  return (selectors ?? [])
    .slice(0, MAX_COUNTED)
    .map((each) => clip(typeof each === 'string' ? each : each.join(' >>> ')));
}

function clip(text: string): string {
  const short = text.length <= MAX_SELECTOR_LENGTH ? text : `${text.slice(0, MAX_SELECTOR_LENGTH - 1)}…`;
  return short.toWellFormed();
}

/** Adds what was seen of one more item. */
export function addSeen(steps: JobSteps, seen: readonly SeenStep[], now: number): JobSteps {
  const minute = Math.floor(now / 60_000);
  return mergeSteps(
    steps,
    seen.slice(0, LIMITS.steps).map((each) => firstOf(each, minute)),
  );
}

function firstOf({ step, selectors, spans, alternative }: SeenStep, minute: number): StepStatistics {
  const at = alternative === null ? null : Math.min(alternative, MAX_COUNTED - 1);
  return {
    step: clipStep(step),
    selectors,
    items: 1,
    spans,
    matched: at === null ? [] : Array.from({ length: at + 1 }, (_, index) => Number(index === at)),
    slices: at === null ? [] : [{ minute, items: 1, missed: Number(at > 0) }],
  };
}

export function mergeSteps(one: JobSteps, other: JobSteps): JobSteps {
  const merged = new Map(one.map((each) => [stepKey(each.step), each]));
  for (const each of other) {
    const key = stepKey(each.step);
    const known = merged.get(key);
    merged.set(key, known === undefined ? each : mergeStep(known, each));
  }
  return withoutSurplus([...merged.values()].sort((a, b) => compareSteps(a.step, b.step)));
}

function mergeStep(one: StepStatistics, other: StepStatistics): StepStatistics {
  return {
    step: one.step,
    selectors: one.selectors.length >= other.selectors.length ? one.selectors : other.selectors,
    items: one.items + other.items,
    spans: mergeSpans(one.spans, other.spans),
    matched: addUp(one.matched, other.matched),
    slices: mergeSlices(one.slices, other.slices),
  };
}

/** The first ones of a recording are kept, whichever came first: so every process keeps the same ones. */
function withoutSurplus(sorted: JobSteps): JobSteps {
  const own = sorted.filter(({ step }) => step.path !== OTHER_STEPS.path);
  if (own.length <= MAX_STEPS) return sorted;
  const surplus = [...own.slice(MAX_STEPS), ...sorted.filter(({ step }) => step.path === OTHER_STEPS.path)];
  const other = surplus
    .map((each): StepStatistics => ({ ...each, step: OTHER_STEPS, selectors: [], matched: [], slices: [] }))
    .reduce(mergeStep);
  return [...own.slice(0, MAX_STEPS), other];
}

function addUp(one: readonly number[], other: readonly number[]): readonly number[] {
  const [longer, shorter] = one.length >= other.length ? [one, other] : [other, one];
  return longer.map((count, index) => count + (shorter[index] ?? 0));
}

function mergeSlices(one: readonly MatchSlice[], other: readonly MatchSlice[]): readonly MatchSlice[] {
  const merged = new Map<number, MatchSlice>();
  for (const slice of [...one, ...other]) {
    const known = merged.get(slice.minute);
    merged.set(slice.minute, known === undefined ? slice : joinSlices(known, slice));
  }
  const sorted = [...merged.values()].sort((a, b) => a.minute - b.minute);
  const surplus = sorted.length - MAX_SLICES;
  if (surplus <= 0) return sorted;
  return [sorted.slice(0, surplus + 1).reduce(joinSlices), ...sorted.slice(surplus + 1)];
}

/** Named after the later minute: what is reported of an earlier one belongs to it, too. */
function joinSlices(one: MatchSlice, other: MatchSlice): MatchSlice {
  return {
    minute: Math.max(one.minute, other.minute),
    items: one.items + other.items,
    missed: one.missed + other.missed,
  };
}
