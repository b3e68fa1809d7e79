/**
 * Regular expressions of a recording are written by someone else and tried on pages by a worker that many jobs share. The
 * engine of JavaScript backtracks, so a pattern such as `(a+)+$` can take years. Only patterns are accepted whose time is
 * bounded by the length of the text in a small power: no references, no assertions that look around, no repetition of
 * something that repeats or branches, and at most two open repetitions in a row that can match the same characters.
 */
export function findPatternProblem(source: string): string | null {
  if (source.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  try {
    new RegExp(source, 'u');
  } catch (error) {
    return `is not a regular expression: ${error instanceof Error ? error.message : String(error)}`;
  }
  try {
    const reader = new PatternReader(source);
    reader.readAlternatives(0);
    return null;
  } catch (error) {
    if (error instanceof UnsafePattern) return error.message;
    throw error;
  }
}

/** The pattern, to be tried on at most `LIMITS.patternSubject` characters. Throws for one that is not accepted. */
export function compilePattern(source: string, flags: '' | 'i' = 'i'): RegExp {
  const problem = findPatternProblem(source);
  if (problem !== null) throw new Error(`the pattern ${JSON.stringify(source.slice(0, 100))} ${problem}`);
  return new RegExp(source, `${flags}u`);
}

const MAX_LENGTH = 500;
const MAX_GROUPS = 10;
const MAX_COUNT = 100;

class UnsafePattern extends Error {}

/** What a piece of a pattern can do to the time of a match. */
interface Piece {
  /** Its characters: of one character (`[0-9]`), or null for a group. */
  readonly set: CharacterSet | null;
  /** Whether it can match in more than one length or way. */
  readonly varies: boolean;
}

type CharacterSet = RegExp | 'any';

class PatternReader {
  readonly #source: string;
  #at = 0;
  /** Sets of the open repetitions since the last character that none of them can match. */
  #open: readonly CharacterSet[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  /** Reads up to the end or the closing bracket of the group. */
  readAlternatives(depth: number): { varies: boolean } {
    if (depth > MAX_GROUPS) throw new UnsafePattern(`has more than ${MAX_GROUPS} groups in each other`);
    let varies = false;
    const before = this.#open;
    const ends: (readonly CharacterSet[])[] = [];
    while (this.#at < this.#source.length) {
      const next = this.#source[this.#at];
      if (next === ')') break;
      if (next === '|') {
        this.#at += 1;
        ends.push(this.#open);
        this.#open = before;
        varies = true;
        continue;
      }
      if (next === '^' || next === '$') {
        this.#at += 1;
        continue;
      }
      varies = this.#readRepeated(depth) || varies;
    }
    this.#open = eitherOpen([...ends, this.#open]);
    return { varies };
  }

  /** A piece and its quantifier; answers whether it varies. */
  #readRepeated(depth: number): boolean {
    const before = this.#open;
    const piece = this.#readPiece(depth);
    const [quantifier = '', least, comma, most] = QUANTIFIER.exec(this.#source.slice(this.#at)) ?? [];
    this.#at += quantifier.length;
    if (quantifier === '') {
      if (piece.set !== null) this.#separate(piece.set);
      return piece.varies;
    }
    const limit =
      least === undefined
        ? quantifier[0] === '?'
          ? 1
          : Infinity
        : comma === undefined
          ? Number(least)
          : most
            ? Number(most)
            : Infinity;
    if (limit !== Infinity && limit > MAX_COUNT)
      throw new UnsafePattern(`repeats something more than ${MAX_COUNT} times`);
    if (limit > 1 && piece.varies) {
      throw new UnsafePattern('repeats a group that repeats or branches itself, which can take forever');
    }
    // What may be left out separates nothing.
    const mayBeAbsent = quantifier[0] === '?' || quantifier[0] === '*' || Number(least) === 0;
    if (mayBeAbsent) this.#open = eitherOpen([before, this.#open]);
    if (limit === Infinity) this.#noteOpen(piece.set ?? 'any');
    return limit === Infinity || least === undefined || comma !== undefined;
  }

  #noteOpen(set: CharacterSet): void {
    this.#open = [...this.#open, set];
    if (this.#open.length > 2) {
      throw new UnsafePattern('has more than two open repetitions in a row that can match the same characters');
    }
  }

  /** A character that must be there ends the open repetitions that cannot match it. */
  #separate(set: CharacterSet): void {
    if (this.#open.length > 0 && this.#open.every((open) => areApart(open, set))) this.#open = [];
  }

  #readPiece(depth: number): Piece {
    const rest = this.#source.slice(this.#at);
    if (rest[0] === '(') return this.#readGroup(depth, rest);
    const [token = rest[0] ?? ''] = CLASS.exec(rest) ?? ESCAPE.exec(rest) ?? [];
    if (/^\\(?:[1-9]|k)/.test(token)) throw new UnsafePattern('refers back to one of its groups');
    this.#at += token.length;
    if (/^\\[bB]$/.test(token)) return { set: null, varies: false };
    return { set: token === '.' ? 'any' : new RegExp(`^${token}$`, 'iu'), varies: false };
  }

  #readGroup(depth: number, rest: string): Piece {
    const [opening = '('] = /^\((?:\?:|\?<[A-Za-z]\w*>)?/.exec(rest) ?? [];
    if (rest.startsWith('(?') && opening === '(') throw new UnsafePattern('looks ahead or behind, or changes flags');
    this.#at += opening.length;
    const { varies } = this.readAlternatives(depth + 1);
    this.#at += 1;
    return { set: null, varies };
  }
}

/** The open repetitions after one of several ways, whichever it was. */
function eitherOpen(ways: readonly (readonly CharacterSet[])[]): readonly CharacterSet[] {
  const longest = ways.reduce((one, other) => (other.length > one.length ? other : one));
  return longest.map((set, index) =>
    ways.every((way) => way[index] === undefined || way[index] === set) ? set : 'any',
  );
}

const QUANTIFIER = /^(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/;
const CLASS = /^\[(?:\\.|[^\]\\])*\]/s;
const ESCAPE = /^\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)/su;

/** Whether no character of ASCII is in both. Others are rare in patterns, and `any` has them all. */
function areApart(one: CharacterSet, other: CharacterSet): boolean {
  if (one === 'any' || other === 'any') return false;
  return ASCII.every((character) => !(one.test(character) && other.test(character)));
}

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
