import type { LinePace } from './line-limits.ts';

/**
 * The time of a line as a row of slots, each of which is given to one process or free. Slot `i` is at `from + i ×
 * spacingMs`.
 */
export interface SlotGrid {
  readonly from: number;
  readonly spacingMs: number;
  /** Bit `i` is set if slot `i` was given away. */
  readonly taken: bigint;
  /** The last slot given away before `from`. */
  readonly lastAt: number;
  /** Times given away under another spacing, from which free slots must still keep their distance. */
  readonly former: readonly number[];
}

/**
 * The grid from `start` on, at this pace. No free slot is closer to one that was given away than the current spacing,
 * even if the spacing was different then. Slots more than twice `reachMs` ahead were given away by a wrong clock, or
 * under a much lower limit: they block no one. They are forgotten by the next call that finds them so far ahead; until
 * then they are remembered, because it may be this call that was delayed on its way.
 */
export function gridFrom(known: SlotGrid | null, { spacingMs }: LinePace, start: number, reachMs: number): SlotGrid {
  if (known === null) return emptyGrid(start, spacingMs);
  const latest = start + 2 * reachMs;
  const reachedAt = Number.isFinite(known.lastAt) ? known.lastAt : known.from;
  // By our clock, what the wrong one gave away is over after `reachMs`.
  if (reachedAt > latest) {
    const former = [reachedAt, ...known.former, ...takenTimes(known.from, known.spacingMs, known.taken)];
    return { ...emptyGrid(start + reachMs, spacingMs), former };
  }

  const passed = Math.max(0, Math.ceil((start - known.from) / known.spacingMs));
  const lastAt = Math.max(known.lastAt, lastTaken(known, passed), ...known.former.filter((time) => time < start));
  const from = known.from + passed * known.spacingMs;
  const taken = known.taken >> BigInt(passed);
  const former = known.former.filter((time) => time > start - spacingMs && time <= latest);
  if (taken !== 0n && known.spacingMs === spacingMs) {
    const bits = Math.max(0, Math.ceil((latest - from) / spacingMs) + 1);
    const ahead = takenTimes(from + bits * spacingMs, spacingMs, taken >> BigInt(bits));
    return { from, spacingMs, taken: BigInt.asUintN(bits, taken), lastAt, former: [...former, ...ahead] };
  }
  // Nothing is given away from here on, or the slots have another size: they can begin anywhere.
  const times = takenTimes(from, known.spacingMs, taken);
  return { from: Math.max(start, lastAt + spacingMs), spacingMs, taken: 0n, lastAt, former: [...former, ...times] };
}

function emptyGrid(from: number, spacingMs: number): SlotGrid {
  return { from, spacingMs, taken: 0n, lastAt: Number.NEGATIVE_INFINITY, former: [] };
}

/** Free slots before `to`, soonest first. */
export function freeSlots({ from, spacingMs, taken, former }: SlotGrid, to: number): number[] {
  const free: number[] = [];
  const count = Math.ceil((to - from) / spacingMs);
  for (let at = 0; at < count; at += 1) {
    const time = from + at * spacingMs;
    const isTaken = ((taken >> BigInt(at)) & 1n) === 1n;
    if (!isTaken && former.every((other) => Math.abs(other - time) >= spacingMs)) free.push(at);
  }
  return free;
}

export function giveAway(grid: SlotGrid, slots: readonly number[]): SlotGrid {
  const bits = slots.reduce((all, slot) => all | (1n << BigInt(slot)), 0n);
  return { ...grid, taken: grid.taken | bits };
}

export function slotTime({ from, spacingMs }: SlotGrid, slot: number): number {
  return from + slot * spacingMs;
}

/** `count` of the free slots, spread evenly. */
export function spread(free: readonly number[], count: number): number[] {
  if (count >= free.length) return [...free];
  return Array.from({ length: count }, (_, at) => free[Math.floor((at * free.length) / count)] ?? 0);
}

function takenTimes(from: number, spacingMs: number, taken: bigint): number[] {
  const times: number[] = [];
  for (let rest = taken, at = 0; rest !== 0n; rest >>= 1n, at += 1) {
    if ((rest & 1n) === 1n) times.push(from + at * spacingMs);
  }
  return times;
}

function lastTaken({ from, spacingMs, taken }: SlotGrid, passed: number): number {
  for (let at = Math.min(passed, taken.toString(2).length) - 1; at >= 0; at -= 1) {
    if (((taken >> BigInt(at)) & 1n) === 1n) return from + at * spacingMs;
  }
  return Number.NEGATIVE_INFINITY;
}
