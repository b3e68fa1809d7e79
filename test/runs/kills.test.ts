import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededChance } from '../../src/domain/seeded-chance.ts';
import type { FaultPoint, Faults } from '../../src/ports/faults.ts';
import { sized } from '../support/sized.ts';
import { openRuns, urlsOf, wishFor, work } from './carrying.ts';
import type { Dialect, EtlServer, Trouble } from './etl-server.ts';

const DIALECTS: readonly Partial<Dialect>[] = [
  {},
  { ids: 'id', names: 'snake', one: 'data', list: 'runs', nulls: true, batches: 'refused' },
  { ids: 'id', one: 'run', list: 'bare', nulls: true, batches: 'ignored', finalizes: 'finalize', byStatus: false },
];

const POINTS: readonly FaultPoint[] = [
  ...(['after-run-order-before-job', 'before-run-report', 'after-run-report', 'after-run-finalized'] as const),
];

const TROUBLES: readonly Trouble[] = [
  ...(['refused', 'lost', 'half', 'garbage'] as const),
  ...[{ status: 500 }, { status: 429, retryAfter: '3' }, { status: 503 }],
];

class Killed extends Error {}

test('an orchestrator that is killed again and again, with a server that fails: every item is scraped once and reported', async (t) => {
  const kills = sized({ quick: 6, slow: 50 });
  let killed = 0;
  for (let seed = 1; killed < kills; seed += 1) killed += await playRun(t, seed);
});

/** Carries out one run whose orchestrators die at random points; returns how many did. */
async function playRun(t: Parameters<typeof openRuns>[0], seed: number): Promise<number> {
  const chance = seededChance(seed);
  const { server, ledger, orders, clock, orchestrate } = await openRuns(t, DIALECTS[seed % DIALECTS.length]);
  let killed = 0;
  let isDying = true;
  const dying = (): Faults => {
    const point = isDying ? POINTS[Math.floor(chance() * POINTS.length)] : undefined;
    let isDead = false;
    return {
      at(reached) {
        // A dead process does nothing any more, whatever it was about to do.
        if (isDead) throw new Killed();
        if (reached !== point || chance() < 0.3) return;
        isDead = true;
        killed += 1;
        throw new Killed(point);
      },
    };
  };
  const trouble = () => {
    if (isDying && chance() < 0.5) server.troubles.push(TROUBLES[Math.floor(chance() * TROUBLES.length)] ?? null);
  };
  const urls = urlsOf(20);
  const scraped: string[] = [];
  const ends = (url: string) => (url.endsWith('7') ? 'no_results' : url.endsWith('3') ? 'timeout' : null);
  for (let life = 0; server.runs.get('run-1')?.status !== 'finished' || (await orders.list()).length > 0; life += 1) {
    // Whatever is wrong with the server and its clients ends at some point.
    if (life === 12) isDying = false;
    assert.ok(life < 30, `seed ${seed}: the run does not end`);
    const orchestrator = orchestrate(dying());
    trouble();
    if ((await orders.list()).length === 0) await orchestrator.start(wishFor(urls)).catch(() => {});
    // This goes past the end of a reservation whose owner died as well.
    await clock.advance(10 * 60_000);
    for (const { jobId, job } of await orchestrator.list()) {
      if (job === null) continue;
      const { batches } = await work(ledger, jobId, { ends, most: 1 + Math.floor(chance() * 8) });
      scraped.push(...batches.flat());
    }
    trouble();
    await orchestrator.reportOnce().catch(() => {});
    trouble();
    await orchestrator.runOnce().catch(() => {});
    orchestrator.close();
  }
  assert.equal(server.runs.size, 1, `seed ${seed}`);
  assert.deepEqual(scraped.sort(), [...urls].sort(), `seed ${seed}: every URL once`);
  for (const { url, done, failed, invalid } of server.runs.get('run-1')?.items ?? []) {
    const expected = ends(url);
    const flags = [done === true, failed === true, invalid === true];
    assert.deepEqual(
      flags,
      [expected === null, expected === 'timeout', expected === 'no_results'],
      `seed ${seed}: ${url}`,
    );
  }
  const { finished_count, failed_count, total_count } = server.runs.get('run-1')?.metadata ?? {};
  assert.deepEqual([finished_count, failed_count, total_count], [16, 4, 20]);
  assertInOrder(server);
  return killed;
}

/** No update of an item follows one that says something else. */
function assertInOrder(server: EtlServer): void {
  const last = new Map<string, string>();
  for (const { body } of server.seen) {
    const { updateItem, updateItems = updateItem ? [updateItem] : [] } = (body ?? {}) as Sent;
    for (const { url, changes } of updateItems) {
      const { done, failed, invalid } = changes;
      const said = JSON.stringify([done === true, failed === true, invalid === true]);
      assert.equal(last.get(url) ?? said, said, url);
      last.set(url, said);
    }
  }
}

interface Sent {
  readonly updateItem?: SentUpdate;
  readonly updateItems?: readonly SentUpdate[];
}

interface SentUpdate {
  readonly url: string;
  readonly changes: Readonly<Record<string, unknown>>;
}
