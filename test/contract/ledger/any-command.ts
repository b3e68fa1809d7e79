import fc from 'fast-check';
import type { FailureType } from '../../../src/domain/failure.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import type { Lease, LeasedItem } from '../../../src/ports/ledger.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import { failedAtStep, failedWith, policyOf, SCRAPED, SKIPPED } from '../../support/builders.ts';
import type { Choose, LedgerCommand } from './commands.ts';
import * as commands from './commands.ts';
import type { Model } from './model.ts';

/** Commands at random, weighted so that jobs get somewhere: left to pure chance hardly anything would ever be claimed. */

export const POLICIES = [
  policyOf({ throttling: { max_concurrent_workers: 3 } }),
  policyOf({ throttling: { max_concurrent_workers: 1 } }),
  policyOf({
    throttling: { max_concurrent_workers: 4 },
    circuit_breaker: { min_requests: 3, consecutive_failures: 4 },
  }),
] as const;

const job = fc.nat(1);
const size = fc.constantFrom(1, 2, 5);
const worker = fc.constantFrom('worker-1', 'worker-2');
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(SCRAPED) },
  { weight: 1, arbitrary: fc.constant(SKIPPED) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom<FailureType>('timeout', 'not_found', 'blocked'), fc.constantFrom(null, '1', '4.then.2'))
      .map(([type, path]) => (path === null ? failedWith(type) : failedAtStep(path, type))),
  },
);

/** Half of them are still good. */
const someRefs = some('batches', (model) => [
  model.everyRef,
  [...model.batches.values()].filter((batch) => batch.hold === null).map((batch) => batch.ref),
]);
const someLeases = some('leases', (model) => [
  model.everyLease,
  [...model.batches.values()].flatMap((batch) => batch.hold?.lease ?? []),
]);

const reopening: fc.Arbitrary<commands.Reopening> = fc.record({
  errorType: fc.constantFrom<(FailureType | null)[]>(null, null, 'timeout', 'poison'),
  isGrouped: fc.boolean(),
  isNamed: fc.boolean(),
  preview: fc.boolean(),
  limit: fc.constantFrom(1, 2, 50),
});

export const anyCommand: fc.Arbitrary<LedgerCommand>[] = [
  ...weighted(1, fc.tuple(job, fc.nat(20), fc.nat(3), fc.constantFrom(0, 500)), (args) => commands.addItems(...args)),
  ...weighted(1, fc.tuple(job, fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }), fc.nat(4)), (args) =>
    commands.correct(...args),
  ),
  ...weighted(2, fc.tuple(job, size), (args) => commands.dispatch(...args)),
  ...weighted(2, fc.tuple(someRefs, worker), ([refs, who]) => commands.claim(refs.text, refs.choose, who)),
  ...weighted(1, someLeases, (leases) => commands.begin(leases.text, leases.choose)),
  ...weighted(2, fc.tuple(someLeases, outcome), ([leases, how]) => commands.settle(leases.text, leases.choose, how)),
  ...weighted(2, fc.tuple(someLeases, outcome, fc.nat(4), fc.nat(4)), ([leases, how, from, count]) =>
    commands.settle(`parts of ${leases.text}`, leases.choose, how, inARow(from, 1 + count)),
  ),
  ...weighted(1, someLeases, (leases) => commands.release(leases.text, leases.choose)),
  ...weighted(1, someRefs, (refs) => commands.recall(refs.text, refs.choose)),
  ...weighted(1, someLeases, (leases) => commands.renew(leases.text, leases.choose)),
  ...weighted(1, worker, commands.abandon),
  ...weighted(1, fc.constantFrom(500, 1500), commands.expire),
  ...weighted(1, fc.integer({ min: 1, max: 1500 }), commands.pass),
  ...weighted(2, fc.tuple(job, size, outcome), (args) => workOff(...args)),
  ...weighted(2, fc.tuple(job, size), (args) => dieAtWork(...args)),
  ...weighted(1, fc.tuple(job, fc.constantFrom('pause', 'pause', 'trip', 'trip', 'cancel')), (args) =>
    commands.change(...args),
  ),
  ...weighted(2, fc.tuple(job, fc.constantFrom('resume', 'complete')), (args) => commands.change(...args)),
  ...weighted(1, fc.tuple(job, fc.constantFrom(...POLICIES)), (args) => commands.changePolicy(...args)),
  ...weighted(1, fc.tuple(job, fc.uniqueArray(fc.nat(12), { minLength: 1, maxLength: 6 })), (args) =>
    commands.recover(...args),
  ),
  ...weighted(2, fc.tuple(job, reopening), (args) => commands.reopen(...args)),
];

function workOff(which: number, perBatch: number, how: Outcome): LedgerCommand {
  return commands.inTurn(`work off job ${which} by ${perBatch}`, [
    commands.dispatch(which, perBatch),
    commands.claim('all', queuedOf(which), 'worker-1'),
    commands.settle('all', heldOf(which), how),
  ]);
}

/** Each worker dies at the first item that it has. */
function dieAtWork(which: number, perBatch: number): LedgerCommand {
  return commands.inTurn(`die at work on job ${which} by ${perBatch}`, [
    commands.dispatch(which, perBatch),
    commands.claim('all', queuedOf(which), 'worker-2'),
    commands.begin('all', heldOf(which)),
    commands.abandon('worker-2'),
    commands.expire(1500),
  ]);
}

function queuedOf(which: number): Choose<BatchRef> {
  return (model) => model.batchesOf(model.jobAt(which)).flatMap((batch) => (batch.hold === null ? batch.ref : []));
}

function heldOf(which: number): Choose<Lease> {
  return (model) => model.batchesOf(model.jobAt(which)).flatMap((batch) => batch.hold?.lease ?? []);
}

/** Up to three, of two lists in turn, the newest first. */
function some<T>(
  name: string,
  lists: (model: Model) => readonly [readonly T[], readonly T[]],
): fc.Arbitrary<{ readonly text: string; readonly choose: Choose<T> }> {
  return fc.array(fc.nat(9), { minLength: 1, maxLength: 3 }).map((picks) => ({
    text: `${name} ${picks}`,
    choose(model) {
      const [all, good] = lists(model);
      const chosen = picks.flatMap((pick) => {
        const list = pick % 2 === 0 ? good : all;
        return list[list.length - 1 - ((pick >> 1) % Math.max(1, list.length))] ?? [];
      });
      return chosen;
    },
  }));
}

/** Some consecutive items, as if all of them formed a ring. */
function inARow(from: number, count: number) {
  return (items: readonly LeasedItem[]) => {
    const start = from % items.length;
    return [...items.slice(start), ...items.slice(0, start)].slice(0, count);
  };
}

function weighted<T>(weight: number, value: fc.Arbitrary<T>, make: (value: T) => LedgerCommand) {
  return Array.from({ length: weight }, () => value.map(make));
}
