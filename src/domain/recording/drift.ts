import type { JobSteps, StepStatistics } from './step-statistics.ts';

/**
 * The first choice of a selector has stopped matching, and another alternative does the work. Nothing has failed yet: it is
 * the time to repair the recording.
 */
export interface Drift {
  readonly step: StepStatistics['step'];
  /** The selector that no longer matches, and the one that matched most often instead. Numbers are from 1. */
  readonly first: string;
  readonly instead: { readonly number: number; readonly selector: string };
  /** Items in which an alternative matched: all, or the last ones if it was different before. */
  readonly items: number;
  /** How many of those the first alternative did not match. */
  readonly missed: number;
  readonly isRecent: boolean;
}

/** Fewer are pages that differ, not a site that has changed. */
const MIN_MISSED = 5;

/** The last minutes are judged with at least this many items, if there were so many. */
const RECENT_ITEMS = 20;

/** A site that shows the one form to some and the other to others is not changing. */
const MIN_SHARE = 0.5;

/** In the order of the recording. */
export function findDrift(steps: JobSteps): readonly Drift[] {
  return steps.flatMap((step) => driftOf(step) ?? []);
}

export function driftOf({ step, selectors, matched, slices }: StepStatistics): Drift | null {
  const [first] = selectors;
  const instead = largestAfterFirst(matched);
  if (first === undefined || instead === null) return null;
  const recent = latest(slices);
  if (!isDrift(recent)) return null;
  const all = slices.reduce(add, NONE);
  const isRecent = !isDrift(all);
  const { items, missed } = isRecent ? recent : all;
  const selector = selectors[instead] ?? first;
  return { step, first, instead: { number: instead + 1, selector }, items, missed, isRecent };
}

/** `step 4, click "Search": the first selector (#btnGo) matched nothing in 180 of 200 items; the second (text/Search) did`. */
export function describeDrift({ step, first, instead, items, missed, isRecent }: Drift): string {
  const of = `${missed} of ${isRecent ? 'the last ' : ''}${items} items`;
  const other = `the ${ORDINALS[instead.number] ?? `${instead.number}th`} (${instead.selector})`;
  return `step ${step.path}, ${step.label}: the first selector (${first}) matched nothing in ${of}; ${other} did`;
}

const ORDINALS: Readonly<Record<number, string>> = { 2: 'second', 3: 'third', 4: 'fourth', 5: 'fifth' };

interface Seen {
  readonly items: number;
  readonly missed: number;
}

const NONE: Seen = { items: 0, missed: 0 };

function isDrift({ items, missed }: Seen): boolean {
  return missed >= MIN_MISSED && missed >= items * MIN_SHARE;
}

/** The last minutes, as far back as it takes to have seen enough. */
function latest(slices: StepStatistics['slices']): Seen {
  let seen = NONE;
  for (const slice of slices.toReversed()) {
    seen = add(seen, slice);
    if (seen.items >= RECENT_ITEMS) return seen;
  }
  return seen;
}

function add(one: Seen, other: Seen): Seen {
  return { items: one.items + other.items, missed: one.missed + other.missed };
}

function largestAfterFirst(matched: readonly number[]): number | null {
  let best: number | null = null;
  for (const [index, count] of matched.entries()) {
    if (index > 0 && count > 0 && count > (best === null ? 0 : (matched[best] ?? 0))) best = index;
  }
  return best;
}
