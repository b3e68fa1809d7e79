import { type ChildProcess, fork } from 'node:child_process';
import { hash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Census } from './fault-plan.ts';
import { runSeed, type StoreKind } from './world.ts';

/** Many seeds, in as many processes as there are cores. Each takes the next few seeds whenever it has none. */
export interface Sweep {
  readonly first: number;
  readonly seeds: number;
  readonly store: StoreKind;
  readonly onProgress: (done: number, violations: number) => void;
  readonly onViolation: (violation: Violation) => void;
}

export interface Violation {
  readonly seed: number;
  readonly message: string;
  readonly last: readonly string[];
  readonly faults: readonly string[];
}

export interface SweepResult {
  readonly violations: number;
  readonly census: Census;
  readonly virtualMs: number;
  readonly steps: number;
  /** Over the hashes of all runs, in the order of their seeds. */
  readonly hash: string;
}

interface Order {
  readonly first: number;
  readonly last: number;
  readonly store: StoreKind;
}

interface Report {
  readonly order: Order;
  readonly hashes: readonly string[];
  readonly violations: readonly Violation[];
  readonly census: readonly (readonly [string, number])[];
  readonly virtualMs: number;
  readonly lines: number;
}

/** Few enough that progress is visible and the processes end together. */
const SEEDS_PER_ORDER = { memory: 50, sqlite: 5 };

/** Beyond this the rest shows nothing new. */
const MAX_VIOLATIONS = 10;

export async function sweep(parts: Sweep): Promise<SweepResult> {
  const { first, seeds, store } = parts;
  const end = first + seeds;
  const hashes = new Map<number, readonly string[]>();
  const sum = { violations: 0, virtualMs: 0, steps: 0, done: 0, next: first };
  const census: Census = new Map();

  const nextOrder = (): Order | null => {
    if (sum.next >= end || sum.violations >= MAX_VIOLATIONS) return null;
    const order = { first: sum.next, last: Math.min(end, sum.next + SEEDS_PER_ORDER[store]) - 1, store };
    sum.next = order.last + 1;
    return order;
  };
  const take = (report: Report): void => {
    hashes.set(report.order.first, report.hashes);
    for (const [kind, count] of report.census) census.set(kind, (census.get(kind) ?? 0) + count);
    sum.virtualMs += report.virtualMs;
    sum.steps += report.lines;
    sum.done += report.hashes.length;
    sum.violations += report.violations.length;
    for (const violation of report.violations) parts.onViolation(violation);
    parts.onProgress(sum.done, sum.violations);
  };

  const children = Array.from({ length: Math.min(availableParallelism(), seeds) }, startChild);
  try {
    await Promise.all(children.map((child) => serve(child, nextOrder, take)));
  } finally {
    for (const child of children) child.disconnect();
  }
  const inOrder = [...hashes].sort(([one], [other]) => one - other).flatMap(([, all]) => all);
  return { ...sum, census, hash: hash('sha256', inOrder.join()).slice(0, 16) };
}

function startChild(): ChildProcess {
  return fork(fileURLToPath(new URL('sweep-child.ts', import.meta.url)), { execArgv: [] });
}

function serve(child: ChildProcess, nextOrder: () => Order | null, take: (report: Report) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const askNext = () => {
    const order = nextOrder();
    if (order === null) resolve();
    else child.send(order);
  };
  child.on('message', (report: Report) => {
    take(report);
    askNext();
  });
  child.on('error', reject);
  child.on('exit', (code) => reject(new Error(`a simulating process ended by itself (${code})`)));
  askNext();
  return promise;
}

/** What a child does with an order. */
export async function carryOut(order: Order): Promise<Report> {
  const hashes: string[] = [];
  const violations: Violation[] = [];
  const census: Census = new Map();
  let virtualMs = 0;
  let lines = 0;
  for (let seed = order.first; seed <= order.last && process.connected; seed += 1) {
    const run = await runSeed({ seed, store: order.store });
    hashes.push(run.hash);
    virtualMs += run.virtualMs;
    lines += run.lines;
    for (const [kind, count] of run.census) census.set(kind, (census.get(kind) ?? 0) + count);
    if (run.violation === null) continue;
    violations.push({ seed, message: run.violation, last: run.last, faults: run.faults });
  }
  return { order, hashes, violations, census: [...census], virtualMs, lines };
}
