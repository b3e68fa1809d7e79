import {
  describeSelectors,
  type Frame,
  parseAlternative,
  parseSelector,
  ROW,
  type SelectorPart,
  type Selectors,
  type Within,
} from '../../domain/recording/selector.ts';

/** An element that a step wants, with the values of the item in its selectors. */
export interface Wanted {
  /** Tried in order. */
  readonly alternatives: readonly (readonly SelectorPart[])[];
  /** Which of the matches; null for all of them, of which the first is used. */
  readonly nth: number | null;
  /** Empty for the page itself. */
  readonly frame: readonly (number | SelectorPart)[];
  readonly within: Wanted | null;
  /** For messages: `#search`. */
  readonly described: string;
}

/** The fields of a step, condition or record that say which element it is about. */
export interface Aim {
  readonly selectors?: Selectors | undefined;
  readonly frame?: Frame | undefined;
  readonly within?: Within | undefined;
}

/** `row`: the element of the innermost loop; null outside of one. Null for a step that names no element. */
export function wantedBy(aim: Aim, row: Wanted | null): Wanted | null {
  const within = scopeOf(aim.within, row);
  const { selectors } = aim;
  if (selectors === undefined) return within;
  return {
    alternatives: recallAlternatives(selectors),
    nth: null,
    frame: frameOf(aim) ?? within?.frame ?? [],
    within,
    described: describeSelectors(selectors),
  };
}

export function frameOf({ frame }: Pick<Aim, 'frame'>): Wanted['frame'] | null {
  return frame?.map((each) => (typeof each === 'number' ? each : parseSelector(each))) ?? null;
}

function scopeOf(within: Within | undefined, row: Wanted | null): Wanted | null {
  if (within === undefined) return null;
  return within === ROW ? row : wantedBy({ selectors: within }, null);
}

/** Steps without placeholders are the same object for every item of a job. */
const KNOWN = new WeakMap<Selectors, Wanted['alternatives']>();

function recallAlternatives(selectors: Selectors): Wanted['alternatives'] {
  const known = KNOWN.get(selectors);
  if (known !== undefined) return known;
  const parsed = selectors.map(parseAlternative);
  KNOWN.set(selectors, parsed);
  return parsed;
}
