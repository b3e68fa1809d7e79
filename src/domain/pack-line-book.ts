import type { Holder, JobDemand, LineBook } from './line-book.ts';
import type { LineHealth } from './line-health.ts';
import type { SlotGrid } from './slot-grid.ts';

/**
 * A book as text, as short as possible: on AWS it is one row, which costs by its size, and many processes may be in it.
 * Jobs are named once, and times are counted from the end of the first lease.
 */
export function packLineBook({ grid, holders, health }: LineBook): string {
  const jobs = [...new Set(holders.flatMap(({ demands }) => demands.map(({ job }) => job)))];
  const base = Math.round(holders.reduce((least, { until }) => Math.min(least, until), holders[0]?.until ?? 0));
  const rows = holders.map(({ process, until, places, slotsUntil, owed, waitsSince, demands, doubtedAt }) => [
    ...[process, Math.round(until) - base, places, Math.round(slotsUntil) - base, rounded(owed)],
    waitsSince === null ? null : Math.round(waitsSince) - base,
    demands.map(({ job, weight, places: wanted, perSecond }) => [
      ...[jobs.indexOf(job), weight, wanted, rounded(perSecond)],
    ]),
    ...(doubtedAt === null ? [] : [Math.round(doubtedAt) - base]),
  ]);
  const packedHealth = health === null ? [] : [packHealth(health, base)];
  return JSON.stringify([VERSION, grid === null ? null : packGrid(grid), jobs, base, rows, ...packedHealth]);
}

/** Null for a text that another version of this program wrote: its reservations are unknown. */
export function unpackLineBook(text: string): LineBook | null {
  const [version, grid, jobs, base, rows, health] = JSON.parse(text) as PackedBook;
  if (version !== VERSION) return null;
  return {
    grid: grid === null ? null : unpackGrid(grid),
    holders: rows.map((row) => unpackHolder(row, base, jobs)),
    // Absent in texts of an earlier version.
    health: health === undefined ? null : unpackHealth(health, base),
  };
}

const VERSION = 1;

type PackedBook = readonly [
  number,
  PackedGrid | null,
  readonly string[],
  number,
  readonly PackedHolder[],
  PackedHealth?,
];
type PackedRate = readonly [refusedPerSecond: number, cutAt: number, good: number, returnMs: number];
type PackedTime = number | null;
type PackedHealth = readonly [PackedRate | null, number, PackedTime, PackedTime, number, PackedTime];
type PackedGrid = readonly [from: number, spacingMs: number, taken: string, lastAt: number | null, ...former: number[]];
type PackedDemand = readonly [job: number, weight: number, places: number, perSecond: number];
type PackedHolder = readonly [string, number, number, number, number, number | null, readonly PackedDemand[], number?];

function packGrid({ from, spacingMs, taken, lastAt, former }: SlotGrid): PackedGrid {
  return [from, spacingMs, taken.toString(16), Number.isFinite(lastAt) ? lastAt : null, ...former];
}

function unpackGrid([from, spacingMs, taken, lastAt, ...former]: PackedGrid): SlotGrid {
  return { from, spacingMs, taken: BigInt(`0x${taken}`), lastAt: lastAt ?? Number.NEGATIVE_INFINITY, former };
}

function packHealth(health: LineHealth, base: number): PackedHealth {
  const { rate, failures, failingSince, failedAt, pauses, pausedUntil } = health;
  const since = (time: number) => (time === 0 ? null : Math.round(time) - base);
  const packedRate: PackedRate | null = rate && [
    ...([rounded(rate.refusedPerSecond), Math.round(rate.cutAt) - base, rate.good, rate.returnMs] as const),
  ];
  return [packedRate, failures, since(failingSince), since(failedAt), pauses, since(pausedUntil)];
}

function unpackHealth(packed: PackedHealth, base: number): LineHealth {
  const [rate, failures, failingSince, failedAt, pauses, pausedUntil] = packed;
  const time = (since: PackedTime) => (since === null ? 0 : base + since);
  return {
    rate: rate && { refusedPerSecond: rate[0], cutAt: base + rate[1], good: rate[2], returnMs: rate[3] },
    failures,
    failingSince: time(failingSince),
    failedAt: time(failedAt),
    pauses,
    pausedUntil: time(pausedUntil),
  };
}

function unpackHolder(row: PackedHolder, base: number, jobs: readonly string[]): Holder {
  const [process, until, places, slotsUntil, owed, waitsSince, demands, doubtedAt] = row;
  return {
    process,
    until: base + until,
    places,
    slotsUntil: base + slotsUntil,
    owed,
    waitsSince: waitsSince === null ? null : base + waitsSince,
    demands: demands.map((demand) => unpackDemand(demand, jobs)),
    doubtedAt: doubtedAt === undefined ? null : base + doubtedAt,
  };
}

function unpackDemand([job, weight, places, perSecond]: PackedDemand, jobs: readonly string[]): JobDemand {
  return { job: jobs[job] ?? '', weight, places, perSecond };
}

function rounded(number: number): number {
  return Math.round(number * 1000) / 1000;
}
