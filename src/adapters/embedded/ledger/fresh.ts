import type { Clock } from '../../../ports/clock.ts';
import type { Statements } from './statements.ts';

/** Systems write their memory to disk within half a minute or so; this is ten times that. */
const FRESH_MS = 5 * 60_000;
/** Rows are grouped by stretches of time, so that a look at the first is enough to know what is old. */
const STRETCH_MS = 1000;
/** At most one comes per second, so two at a time catch up with any backlog. */
const MAX_FORGOTTEN_AT_ONCE = 2;

/**
 * Outcomes of the last minutes that name artifacts. Artifacts are not synced one by one; if the machine crashes, these
 * must be checked. One row per group of changes: ranges of keys, which are mostly neighbours.
 */
export class Fresh {
  readonly #sql: Statements;
  readonly #clock: Clock;
  /** By `elapsed`, which no change of the system's time moves. */
  readonly #stretches: Stretch[];
  #keys: number[] = [];
  /** Counted here and not by the table, which would reuse the number of a row that was rolled back. */
  #lastId: number;
  #isHeld: boolean;

  /** `isHeld`: the machine crashed, and nothing is dropped before it was checked. */
  constructor(sql: Statements, clock: Clock, isHeld: boolean) {
    this.#sql = sql;
    this.#clock = clock;
    this.#isHeld = isHeld;
    const now = clock.elapsed();
    this.#lastId = this.newest();
    this.#stretches = [{ from: now, to: now, lastId: this.#lastId }];
  }

  add(key: number): void {
    this.#keys.push(key);
  }

  newest(): number {
    return Number(this.#sql.newestFresh.get()?.['id'] ?? 0);
  }

  /** Everything up to there was checked. */
  release(upTo: number): void {
    this.#isHeld = false;
    this.#sql.deleteFreshUntil.run(upTo);
  }

  flush(): void {
    if (this.#keys.length === 0) return;
    this.#lastId += 1;
    this.#sql.insertFresh.run(this.#lastId, JSON.stringify(packKeys(this.#keys)));
    this.#keys = [];
    const now = this.#clock.elapsed();
    this.#note(now, this.#lastId);
    if (!this.#isHeld) this.#forgetOld(now);
  }

  forget(): void {
    this.#keys = [];
  }

  #note(now: number, id: number): void {
    const last = this.#stretches.at(-1);
    if (last === undefined || now - last.from >= STRETCH_MS) {
      this.#stretches.push({ from: now, to: now, lastId: id });
      return;
    }
    last.to = now;
    last.lastId = id;
  }

  #forgetOld(now: number): void {
    const old = this.#stretches.findIndex(({ to }) => now - to < FRESH_MS);
    const forgotten = this.#stretches.splice(0, Math.min(old, MAX_FORGOTTEN_AT_ONCE)).at(-1);
    if (forgotten !== undefined) this.#sql.deleteFreshUntil.run(forgotten.lastId);
  }
}

interface Stretch {
  readonly from: number;
  to: number;
  lastId: number;
}

/** Keys as first keys and lengths, in turn. */
export function packKeys(keys: readonly number[]): number[] {
  const packed: number[] = [];
  let next = Number.NaN;
  for (const key of keys.toSorted((one, other) => one - other)) {
    if (key === next) packed[packed.length - 1] = (packed.at(-1) ?? 0) + 1;
    else packed.push(key, 1);
    next = key + 1;
  }
  return packed;
}

export function unpackKeys(packed: readonly number[]): number[] {
  const keys: number[] = [];
  for (let at = 0; at < packed.length; at += 2) {
    const first = packed[at] ?? 0;
    for (let step = 0; step < (packed[at + 1] ?? 0); step += 1) keys.push(first + step);
  }
  return keys;
}
