import type { ItemInput } from './item.ts';
import { BACKSLASH, CLOSE_LIST, CLOSE_OBJECT, OPEN_LIST, OPEN_OBJECT, QUOTE } from './json-bytes.ts';
import type { FieldProblem } from './schema-problems.ts';

/**
 * Whether user input can be stored and returned unchanged. A ledger stores texts as UTF-8, which cannot represent half
 * of a surrogate pair: a different text would come back, and two ids could become one. Numbers out of range (1e999)
 * become null in JSON. A zero byte survives, but such an id cannot be passed on a command line.
 */
const HALF_A_CHARACTER = 'contains half of a surrogate pair, which cannot be stored as UTF-8';

/** Deeper than any input that a scraper is written for; JSON.stringify runs out of stack at some thousands. */
export const MAX_DEPTH = 64;

const TOO_DEEP = `is nested more than ${MAX_DEPTH} levels deep`;

/** The problem with an id, a name or a label; null if it can be stored. */
export function textProblem(text: string): string | null {
  if (!text.isWellFormed()) return HALF_A_CHARACTER;
  return text.includes('\0') ? 'contains a zero byte' : null;
}

/** The first problem that keeps an input from being stored, or null. */
export function inputProblem(input: ItemInput): FieldProblem | null {
  return problemIn(input, '', 1);
}

function problemIn(value: unknown, path: string, depth: number): FieldProblem | null {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? null : { path, message: HALF_A_CHARACTER };
    case 'number':
      return Number.isFinite(value) ? null : { path, message: 'is a number too large to be stored' };
    case 'object':
      return value === null ? null : problemWithin(value, path, depth);
    default:
      return null;
  }
}

function problemWithin(value: object, path: string, depth: number): FieldProblem | null {
  if (depth > MAX_DEPTH) return { path: '', message: TOO_DEEP };
  for (const [name, each] of Object.entries(value)) {
    if (!name.isWellFormed()) return { path, message: `has a field whose name ${HALF_A_CHARACTER}` };
    // Paths are only built if there is something to report.
    if (typeof each === 'string' && each.isWellFormed()) continue;
    const problem = problemIn(each, path === '' ? name : `${path}.${name}`, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}

/**
 * Whether JSON is nested deeper than an input may be, checked before it is parsed: a mebibyte of brackets takes
 * JSON.parse a tenth of a second. Brackets in strings do not count.
 */
export function isNestedTooDeep(json: Uint8Array): boolean {
  if (json.length <= LEVELS_OF_ENTRY + MAX_DEPTH) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > LEVELS_OF_ENTRY + MAX_DEPTH) return true;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
  }
  return false;
}

export const NESTED_TOO_DEEP = `it ${TOO_DEEP}`;

/** An input may be inside an object with its id. */
const LEVELS_OF_ENTRY = 1;
