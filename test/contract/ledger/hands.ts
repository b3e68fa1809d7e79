import assert from 'node:assert/strict';
import { type Counts, pendingOf } from '../../../src/domain/counts.ts';
import type { FailureGroup, ReadGroup } from '../../../src/domain/failure-group.ts';
import { ITEM_STATUSES, type ItemRecord, type ItemStatus } from '../../../src/domain/item.ts';
import { isRefusal, type JobEvent, type JobRecord } from '../../../src/domain/job.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import type { ClaimAnswer, ItemFilter, Lease, Ledger, Page, RetryFilter } from '../../../src/ports/ledger.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import { NOW, newItems, newJob, partOf, SCRAPED, settlement } from '../../support/builders.ts';

/** Short helpers for what the cases of the ledger's contract do repeatedly. */

export interface LedgerParts {
  readonly ledger: Ledger;
}

export const LEASE_MS = 30_000;

/** For `expire`: no batch has been queued for long enough. */
export const NEVER_QUEUED_TOO_LONG = Number.MIN_SAFE_INTEGER;

export async function givenJob(
  ledger: Ledger,
  { items = 1, prefix = 'p', ...job }: Parameters<typeof newJob>[0] & { items?: number; prefix?: string } = {},
): Promise<string> {
  const made = newJob(job);
  const answer = await ledger.createJob(made, newItems(items, { prefix }), NOW);
  assert.equal(answer.kind, 'created');
  return made.jobId;
}

export async function dispatch(ledger: Ledger, jobId: string, perBatch = 1, now = NOW): Promise<readonly BatchRef[]> {
  const dispatched = await ledger.dispatch(jobId, perBatch, now);
  assert.ok(dispatched, `there is no job ${jobId}`);
  return dispatched.refs;
}

export async function claim(
  ledger: Ledger,
  refs: readonly BatchRef[],
  { worker = 'worker-1', now = NOW, until = NOW + LEASE_MS } = {},
): Promise<Lease[]> {
  const answers = await ledger.claim(refs, worker, until, now);
  return answers.map(leaseOf);
}

export function leaseOf(answer: ClaimAnswer | undefined): Lease {
  assert.ok(typeof answer === 'object', `expected a lease, got ${answer}`);
  return answer;
}

/** Dispatches what may go out and claims all of it. */
export async function takeOut(
  ledger: Ledger,
  jobId: string,
  { perBatch = 1, worker = 'worker-1', now = NOW } = {},
): Promise<Lease[]> {
  return claim(ledger, await dispatch(ledger, jobId, perBatch, now), { worker, now, until: now + LEASE_MS });
}

/** The same, where exactly one batch is expected. */
export async function takeOne(
  ledger: Ledger,
  jobId: string,
  options: Parameters<typeof takeOut>[2] = {},
): Promise<Lease> {
  const [lease, ...others] = await takeOut(ledger, jobId, options);
  assert.ok(lease, 'nothing went out');
  assert.equal(others.length, 0, 'more than one batch went out');
  return lease;
}

/** Runs everything that is left of a job to its end with one outcome. */
export async function runAll(ledger: Ledger, jobId: string, outcome: Outcome = SCRAPED, now = NOW): Promise<void> {
  for (;;) {
    const leases = await takeOut(ledger, jobId, { now });
    if (leases.length === 0) return;
    const answers = await ledger.settle(
      leases.map((lease) => partOf(lease, outcome)),
      now,
    );
    assert.ok(answers.every((answer) => answer === 'recorded'));
  }
}

export async function jobOf(ledger: Ledger, jobId: string): Promise<JobRecord> {
  const job = await ledger.job(jobId);
  assert.ok(job, `there is no job ${jobId}`);
  return job;
}

export async function itemOf(ledger: Ledger, jobId: string, itemId: string): Promise<ItemRecord> {
  const item = await ledger.item(jobId, itemId);
  assert.ok(item, `there is no item ${itemId} in ${jobId}`);
  return item;
}

export async function change(ledger: Ledger, jobId: string, event: JobEvent, now = NOW): Promise<JobRecord> {
  const answer = await ledger.changeJob(jobId, event, now);
  assert.ok(answer !== 'missing', `there is no job ${jobId}`);
  assert.ok(!isRefusal(answer), isRefusal(answer) ? answer.refused : '');
  return answer;
}

/** Trips the breaker of a job whose last item failed: one failure is enough from here on. */
export async function trip(ledger: Ledger, jobId: string, evidence: readonly ReadGroup[] = []): Promise<JobRecord> {
  const { policy } = await jobOf(ledger, jobId);
  const strict = { ...policy, circuit_breaker: { ...policy.circuit_breaker, consecutive_failures: 1 } };
  await change(ledger, jobId, { kind: 'policy', policy: strict });
  return change(ledger, jobId, { kind: 'trip', evidence });
}

export const MANIFEST = { parts: { full: 1, success: 1, errors: 1 }, metadataSha256: 'abc', writtenAt: NOW };

/** Every item is final, and the index is written. */
export async function complete(ledger: Ledger, jobId: string, now = NOW): Promise<JobRecord> {
  const { round } = await change(ledger, jobId, { kind: 'finish' }, now);
  return await change(ledger, jobId, { kind: 'complete', round, manifest: MANIFEST }, now);
}

export async function refusal(ledger: Ledger, jobId: string, event: JobEvent, now = NOW): Promise<string> {
  const answer = await ledger.changeJob(jobId, event, now);
  assert.ok(answer !== 'missing' && isRefusal(answer), `${event.kind} was not refused`);
  return answer.refused;
}

/** A page may be empty and have a next one; a walk that never ends is a bug. */
export async function allPages<T>(page: (after: string | null) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = [];
  let after: string | null = null;
  for (let pages = 0; pages < 10_000; pages += 1) {
    const { entries, next }: Page<T> = await page(after);
    all.push(...entries);
    if (next === null) return all;
    assert.notEqual(next, after, 'the cursor does not move');
    after = next;
  }
  throw new Error('the pages have no end');
}

export function allItems(
  ledger: Ledger,
  jobId: string,
  filter: Partial<ItemFilter> = {},
  limit = 100,
): Promise<ItemRecord[]> {
  const whole = { status: null, errorType: null, ...filter };
  return allPages((after) => ledger.items(jobId, whole, { after, limit }));
}

export async function idsOf(items: Promise<readonly { readonly itemId: string }[]>): Promise<string[]> {
  return (await items).map((item) => item.itemId);
}

/** Reopens, page by page, and answers how many. */
export async function reopenAll(
  ledger: Ledger,
  jobId: string,
  filter: Partial<RetryFilter> = {},
  { limit = 100, openUntil = 0, now = NOW } = {},
): Promise<number> {
  const whole = { errorType: null, itemIds: null, groupKeys: null, preview: false, ...filter };
  const pages = await allPages(async (after) => {
    const answer = await ledger.reopen(jobId, whole, { after, limit }, openUntil, now);
    assert.ok('kind' in answer && answer.kind === 'reopened', `not reopened: ${JSON.stringify(answer)}`);
    return { entries: [answer.items], next: answer.next };
  });
  return pages.reduce((sum, items) => sum + items, 0);
}

export type Recount = Record<ItemStatus, number>;

export function recount(items: readonly ItemRecord[]): Recount {
  const seen = Object.fromEntries(ITEM_STATUSES.map((status) => [status, 0])) as Recount;
  for (const item of items) seen[item.status] += 1;
  return seen;
}

export function byStatus(counts: Counts): Recount {
  const { queued, inProgress, success, failed, skipped, cancelled } = counts;
  return { pending: pendingOf(counts), queued, in_progress: inProgress, success, failed, skipped, cancelled };
}

/** What must hold at every read: the counters are what one would count. */
export async function checkBooks(ledger: Ledger, jobId: string): Promise<void> {
  const job = await jobOf(ledger, jobId);
  const items = await allItems(ledger, jobId);
  assert.equal(job.counts.total, items.length, 'total');
  assert.deepEqual(byStatus(job.counts), recount(items), 'counts');
  const groups: readonly FailureGroup[] = await ledger.failureGroups(jobId, 10_000);
  const grouped = groups.reduce((sum, group) => sum + group.count, 0);
  assert.equal(grouped, job.counts.failed, 'failures in groups');
}

/** A job whose items ended in these ways, in order. */
export async function finished(ledger: Ledger, outcomes: readonly Outcome[], jobId = 'job-1'): Promise<string> {
  await givenJob(ledger, { jobId, items: outcomes.length, policy: { throttling: { max_concurrent_workers: 1 } } });
  // An adapter may have a largest batch.
  for (let left = outcomes.length; left > 0; ) {
    const lease = await takeOne(ledger, jobId, { perBatch: left });
    const items = lease.items.map((item) => settlement(item, outcomes[item.seq]));
    assert.deepEqual(await ledger.settle([{ token: lease.token, jobId, items }], NOW), ['recorded']);
    left -= items.length;
  }
  return jobId;
}

/** Without a digit, so that no two have the same pattern. */
export function word(index: number): string {
  const letters = 'abcdefghij';
  return [...String(index)].map((digit) => letters[Number(digit)]).join('');
}
