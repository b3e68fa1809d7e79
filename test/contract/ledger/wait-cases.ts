import assert from 'node:assert/strict';
import type { NewItem } from '../../../src/domain/item.ts';
import type { Lease, Ledger, LedgerChange } from '../../../src/ports/ledger.ts';
import { NOW, newJob, partOf, SCRAPED } from '../../support/builders.ts';
import type { AddCase } from '../suite.ts';
import { change, checkBooks, dispatch, givenJob, itemOf, jobOf, type LedgerParts, refusal, takeOut } from './hands.ts';

const HOUR_MS = 3_600_000;
const HOST = 'county.gov';
const HELD = { host: HOST, until: NOW + HOUR_MS, reason: '429: Retry-After 3600' };
const THREE = { throttling: { max_concurrent_workers: 3 } } as const;

/** A job of five sites, two pages each, of which three are out at a time. */
async function givenSites(ledger: Ledger): Promise<string> {
  const items = ['a', 'b', 'c', 'd', 'e'].flatMap((group): NewItem[] =>
    [0, 1].map((page) => ({ itemId: `${group}-${page}`, input: { url: `${group}-${page}` }, group })),
  );
  const job = newJob({ batching: { by: 'group', maxItems: 2 }, policy: THREE });
  assert.equal((await ledger.createJob(job, items, NOW)).kind, 'created');
  return job.jobId;
}

function idsIn(leases: readonly Lease[]): string[][] {
  return leases.map((lease) => lease.items.map((item) => item.itemId)).sort();
}

/** Jobs that wait for a host. */
export function waitCases(add: AddCase<LedgerParts>): void {
  add('a job whose items came back because of a host waits for it, and nothing is charged', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: THREE });
    const [one, two, three] = await takeOut(ledger, jobId);
    assert.ok(one && two && three);
    assert.equal(await ledger.release(one.token, HELD, NOW), true);
    const { waitingFor, status, tally, refusals } = await jobOf(ledger, jobId);
    assert.deepEqual(waitingFor, { ...HELD, at: NOW, since: NOW, successes: 0 });
    assert.deepEqual([status, tally.finished, refusals], ['in_progress', 0, 0]);
    const item = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual([item.status, item.strikes, item.attempts], ['pending', 0, []]);
    const early = await ledger.dispatch(jobId, 1, HELD.until - 1);
    assert.deepEqual(early, { refs: [], plan: { kind: 'wait', until: HELD.until } });
    assert.equal((await dispatch(ledger, jobId, 1, HELD.until)).length, 1);
    await checkBooks(ledger, jobId);
  });

  add('of two waits, the one that ends later is kept', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3, policy: THREE });
    const [one, two, three] = await takeOut(ledger, jobId);
    assert.ok(one && two && three);
    await ledger.release(one.token, HELD, NOW);
    await ledger.release(two.token, { ...HELD, until: NOW + 1000, reason: 'soon' }, NOW);
    assert.deepEqual((await jobOf(ledger, jobId)).waitingFor, { ...HELD, at: NOW, since: NOW, successes: 0 });
    await ledger.release(three.token, { ...HELD, until: NOW + 2 * HOUR_MS, reason: 'later' }, NOW + 5);
    const { waitingFor } = await jobOf(ledger, jobId);
    assert.deepEqual([waitingFor?.until, waitingFor?.reason, waitingFor?.since], [NOW + 2 * HOUR_MS, 'later', NOW]);
  });

  add('releases at the same time leave the latest wait and lose no item', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3, policy: THREE });
    const leases = await takeOut(ledger, jobId);
    const answers = await Promise.all(
      leases.map(({ token }, index) => ledger.release(token, { ...HELD, until: NOW + index * HOUR_MS }, NOW)),
    );
    assert.deepEqual(answers, [true, true, true]);
    assert.equal((await jobOf(ledger, jobId)).waitingFor?.until, NOW + 2 * HOUR_MS);
    await checkBooks(ledger, jobId);
  });

  add('a lifted pause ends the wait for that host and for no other', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    const [lease] = await takeOut(ledger, jobId);
    assert.ok(lease);
    await ledger.release(lease.token, HELD, NOW);
    assert.match(await refusal(ledger, jobId, { kind: 'stop-waiting', host: 'other.gov' }), /not waiting/);
    const changes: LedgerChange[] = [];
    const unsubscribe = ledger.subscribe((each) => changes.push(each));
    const after = await change(ledger, jobId, { kind: 'stop-waiting', host: HOST });
    unsubscribe();
    assert.equal('waitingFor' in after, false);
    assert.equal('waitingFor' in (await jobOf(ledger, jobId)), false);
    assert.ok(changes.some((each) => each.kind === 'job' && each.because === 'stop-waiting'));
    assert.equal((await dispatch(ledger, jobId)).length, 1);
  });

  add('a user who pauses and resumes the job ends its wait', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    const [lease] = await takeOut(ledger, jobId);
    assert.ok(lease);
    await ledger.release(lease.token, HELD, NOW);
    await change(ledger, jobId, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } });
    await change(ledger, jobId, { kind: 'resume' });
    assert.equal('waitingFor' in (await jobOf(ledger, jobId)), false);
  });

  add('what is dispatched after a success forgets a wait that is over', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 6, policy: THREE });
    const [one, two] = await takeOut(ledger, jobId);
    assert.ok(one && two);
    await ledger.release(one.token, HELD, NOW);
    await ledger.settle([partOf(two, SCRAPED)], NOW);
    assert.equal((await dispatch(ledger, jobId, 1, HELD.until)).length, 2);
    assert.equal('waitingFor' in (await jobOf(ledger, jobId)), false);
    await checkBooks(ledger, jobId);
  });

  add('where batches are made by group, only what came back waits for its host', async ({ ledger }) => {
    const jobId = await givenSites(ledger);
    const [a, b, c] = await takeOut(ledger, jobId);
    assert.ok(a && b && c);
    await ledger.settle([partOf(b, SCRAPED), partOf(c, SCRAPED)], NOW);
    await ledger.release(a.token, HELD, NOW);
    assert.equal((await jobOf(ledger, jobId)).waitingFor?.host, HOST);
    const others = await takeOut(ledger, jobId, { now: NOW + 1 });
    assert.deepEqual(idsIn(others), [
      ['d-0', 'd-1'],
      ['e-0', 'e-1'],
    ]);
    await ledger.settle(
      others.map((lease) => partOf(lease, SCRAPED)),
      NOW + 1,
    );
    assert.deepEqual((await ledger.dispatch(jobId, 1, HELD.until - 1))?.refs, []);
    const item = await itemOf(ledger, jobId, 'a-0');
    assert.deepEqual([item.status, item.strikes, item.attempts], ['pending', 0, []]);
    await checkBooks(ledger, jobId);
    assert.deepEqual(idsIn(await takeOut(ledger, jobId, { now: HELD.until })), [['a-0', 'a-1']]);
    await checkBooks(ledger, jobId);
  });

  add('batches of several hosts wait for their own host only', async ({ ledger }) => {
    const jobId = await givenSites(ledger);
    const [a, b, c] = await takeOut(ledger, jobId);
    assert.ok(a && b && c);
    await ledger.release(a.token, HELD, NOW);
    await ledger.release(b.token, { host: 'b.gov', until: NOW + 5000, reason: 'away' }, NOW);
    // Work that came back for another reason waits for no host.
    await ledger.release(c.token, 'drained', NOW);
    assert.equal((await jobOf(ledger, jobId)).waitingFor?.until, HELD.until);
    const others = await takeOut(ledger, jobId, { now: NOW + 4999 });
    assert.deepEqual(idsIn(others), [
      ['c-0', 'c-1'],
      ['d-0', 'd-1'],
      ['e-0', 'e-1'],
    ]);
    const [one] = others;
    assert.ok(one);
    await ledger.settle([partOf(one, SCRAPED)], NOW + 4999);
    assert.deepEqual(idsIn(await takeOut(ledger, jobId, { now: NOW + 5000 })), [['b-0', 'b-1']]);
    await checkBooks(ledger, jobId);
  });

  add('a lifted pause lets all that waits go on, and later waits do not hold it again', async ({ ledger }) => {
    const jobId = await givenSites(ledger);
    const [a, b, c] = await takeOut(ledger, jobId);
    assert.ok(a && b && c);
    await ledger.release(a.token, { ...HELD, host: 'a.gov' }, NOW);
    await ledger.release(b.token, { ...HELD, until: HELD.until + 1, host: 'b.gov' }, NOW);
    await change(ledger, jobId, { kind: 'stop-waiting', host: 'a.gov' });
    await ledger.release(c.token, { ...HELD, host: 'c.gov' }, NOW + 10);
    assert.deepEqual(idsIn(await takeOut(ledger, jobId, { now: NOW + 20 })), [
      ['a-0', 'a-1'],
      ['b-0', 'b-1'],
      ['d-0', 'd-1'],
    ]);
    await checkBooks(ledger, jobId);
  });

  add('a job that a host keeps waiting for longer than its policy allows is to be paused', async ({ ledger }) => {
    const policy = { circuit_breaker: { max_wait_seconds: 60 } };
    const jobId = await givenJob(ledger, { items: 1, policy });
    const [lease] = await takeOut(ledger, jobId);
    assert.ok(lease);
    await ledger.release(lease.token, HELD, NOW);
    const waiting = await ledger.dispatch(jobId, 1, NOW);
    assert.deepEqual(waiting?.plan, { kind: 'wait', until: NOW + 60_000 });
    const reason = { code: 'host', message: '', evidence: [] } as const;
    assert.match(await refusal(ledger, jobId, { kind: 'pause', reason }), /too long/);
    const late = await ledger.dispatch(jobId, 1, NOW + 60_000);
    assert.equal(late?.plan.kind, 'give-up-waiting');
    const paused = await ledger.changeJob(jobId, { kind: 'pause', reason }, NOW + 60_000);
    assert.ok(typeof paused === 'object' && 'status' in paused && paused.status === 'paused');
  });
}
