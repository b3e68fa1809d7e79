import type { Dice } from './dice.ts';

/** Something that will happen. Only the code that planned it may call it off. */
export interface Planned {
  off(): void;
}

/**
 * The time of a simulated world: what will happen, in the order of its time and, at the same time, in an order that the
 * dice decide. Nothing happens by itself; the world's runner takes one event after another.
 */
export class Timeline {
  readonly #dice: Dice;
  readonly #heap: Entry[] = [];
  #planned = 0;
  now = 0;
  /** By how much all wall clocks of the world were set, in total: durations do not change by that. */
  wallShiftMs = 0;
  wallSetAt = Number.NEGATIVE_INFINITY;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  after(delayMs: number, happen: () => void): Planned {
    this.#planned += 1;
    const entry: Entry = { at: this.now + Math.max(0, delayMs), tie: this.#dice.next(), order: this.#planned, happen };
    push(this.#heap, entry);
    return {
      off() {
        entry.happen = null;
      },
    };
  }

  /** Moves on to the next event and lets it happen. False when there is none before `end`. */
  step(end: number): boolean {
    for (let next = this.#heap[0]; next !== undefined && next.at <= end; next = this.#heap[0]) {
      pop(this.#heap);
      if (next.happen === null) continue;
      this.now = next.at;
      next.happen();
      return true;
    }
    return false;
  }
}

interface Entry {
  readonly at: number;
  readonly tie: number;
  readonly order: number;
  happen: (() => void) | null;
}

function isBefore(a: Entry, b: Entry): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.tie !== b.tie ? a.tie < b.tie : a.order < b.order;
}

function push(heap: Entry[], entry: Entry): void {
  let place = heap.length;
  heap.push(entry);
  while (place > 0) {
    const above = (place - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || isBefore(parent, entry)) break;
    heap[place] = parent;
    place = above;
  }
  heap[place] = entry;
}

function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let place = 0;
  for (;;) {
    const left = heap[2 * place + 1];
    const right = heap[2 * place + 2];
    const isRight = left !== undefined && right !== undefined && isBefore(right, left);
    const child = isRight ? right : left;
    if (child === undefined || !isBefore(child, last)) break;
    heap[place] = child;
    place = 2 * place + (isRight ? 2 : 1);
  }
  heap[place] = last;
}
