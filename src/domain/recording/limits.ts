/**
 * What a recording may be at most. Recordings come from other people's databases, so each limit is checked before anything
 * expensive is done with them; real ones have tens of steps.
 */
export const LIMITS = {
  /** Steps of a recording, nested ones and those of its sequences included. */
  steps: 1_000,
  /** How deep `if`, `forEach`, `repeat` and `try` may be nested. */
  nesting: 8,
  /** Objects, lists and values in the whole document. */
  nodes: 50_000,
  /** Levels of objects and lists: steps, conditions and schemas in each other. */
  depth: 40,
  /** Characters of any string but inline files. */
  text: 10_000,
  /** Characters of the base64 of an inline file. */
  inlineFile: 1_400_000,
  /** Alternatives of one selector. */
  alternatives: 20,
  selector: 2_000,
  sequences: 50,
  /** Rounds of one loop. */
  rounds: 1_000,
  /** Longest time that a step may take. */
  timeoutMs: 300_000,
  /** Longest fixed wait. */
  pauseMs: 60_000,
  /** Steps carried out for one item, rounds of loops counted each: what a runner must not exceed. */
  executedSteps: 10_000,
  /** Characters of a text that a pattern is tried on. */
  patternSubject: 1_000,
} as const;

/** Names that lead to an object's prototype; data with them is refused wherever it could be used as a path. */
export const PROTOTYPE_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
