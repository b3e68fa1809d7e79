import assert from 'node:assert/strict';
import * as nodeDisk from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Disk } from '../../src/adapters/embedded/result-store.ts';
import { itemsOf, nextEvent, tempDataDir, untilFinished, untilJob } from './engine.ts';
import { openEngineHere } from './in-process.ts';

type EngineHere = Awaited<ReturnType<typeof openEngineHere>>;

async function submit(engine: EngineHere, scraper: string, items: readonly unknown[]) {
  const answer = await engine.submit({
    job_id: 'job',
    scraper_id: scraper,
    items,
    execution_policy: { throttling: { max_concurrent_workers: 8 } },
  });
  assert.equal(answer.kind, 'created');
}

/** Slow items that keep bytes. */
function pages(count: number) {
  return itemsOf(count, (index) => ({ ms: 3, bytes: 100 + index }));
}

function untilPausedForStorage(engine: EngineHere) {
  return untilJob(engine, 'job', ({ status, reason }) => status === 'paused' && reason?.code === 'storage');
}

/** Every item succeeded at its first attempt, with its bytes, and no item was charged for the disk. */
async function assertWhole(engine: EngineHere, items: number) {
  const job = await untilFinished(engine, 'job');
  assert.equal(job.status, 'completed');
  assert.deepEqual({ success: job.counts.success, failed: job.counts.failed }, { success: items, failed: 0 });
  let after: string | null = null;
  do {
    const page = await engine.ledger.items('job', { status: null, errorType: null }, { after, limit: 1000 });
    for (const { strikes, attempts, artifacts } of page.entries) {
      assert.deepEqual({ strikes, attempts: attempts.length }, { strikes: 0, attempts: 1 });
      for (const artifact of artifacts) assert.ok(await engine.files.check(artifact), artifact.key);
    }
    after = page.next;
  } while (after !== null);
}

test('when the database has no room the job pauses with the reason, and goes on when there is room', async () => {
  const engine = await openEngineHere(tempDataDir());
  try {
    // So many that their outcomes need pages which the database does not have yet.
    await submit(engine, 'example-noop', itemsOf(10_000));
    await untilJob(engine, 'job', ({ counts }) => counts.success >= 20);
    engine.embedded.limitSize(1);
    const paused = await untilPausedForStorage(engine);
    assert.match(paused.reason?.message ?? '', /full/);
    assert.ok(paused.counts.success < 10_000);
    const recovered = nextEvent(engine, ({ kind }) => kind === 'storage-recovered');
    engine.embedded.limitSize(null);
    await recovered;
    await assertWhole(engine, 10_000);
  } finally {
    engine.embedded.limitSize(null);
    await engine.stop();
  }
});

test('when syncs fail nothing is acknowledged, the job pauses with the reason, and goes on when they succeed', async () => {
  const disk = { isFailing: false };
  const engine = await openEngineHere(tempDataDir(), {
    async sync() {
      if (disk.isFailing) throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
    },
  });
  try {
    await submit(engine, 'example-slow', pages(120));
    await untilJob(engine, 'job', ({ counts }) => counts.success >= 20);
    disk.isFailing = true;
    const paused = await untilPausedForStorage(engine);
    assert.match(paused.reason?.message ?? '', /sync/);
    // A promise that cannot be kept is not given.
    await assert.rejects(engine.submit({ scraper_id: 'example-noop', items: itemsOf(1) }), { name: 'StorageTrouble' });
    const recovered = nextEvent(engine, ({ kind }) => kind === 'storage-recovered');
    disk.isFailing = false;
    await recovered;
    await assertWhole(engine, 120);
  } finally {
    disk.isFailing = false;
    await engine.stop();
  }
});

test('when results cannot be written the items go back uncharged, and the job waits for room', async () => {
  const room = { isNone: false };
  const disk: Disk = {
    ...nodeDisk,
    writeFileSync(...args) {
      if (room.isNone) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
      nodeDisk.writeFileSync(...args);
    },
  };
  const engine = await openEngineHere(tempDataDir(), { disk });
  const givenBack = nextEvent(engine, (event) => event.kind === 'returned' && event.because === 'storage');
  try {
    await submit(engine, 'example-slow', pages(120));
    await untilJob(engine, 'job', ({ counts }) => counts.success >= 20);
    room.isNone = true;
    await untilPausedForStorage(engine);
    // The controller may be the first to notice, at a manifest of an item; workers notice at what they have.
    await givenBack;
    const recovered = nextEvent(engine, ({ kind }) => kind === 'storage-recovered');
    room.isNone = false;
    await recovered;
    await assertWhole(engine, 120);
  } finally {
    room.isNone = false;
    await engine.stop();
  }
});

for (const inItsPlace of ['nothing', 'an empty folder'] as const) {
  test(`when results/ is moved away and ${inItsPlace} is in its place, the job waits for it and no item is charged`, async () => {
    const dataDir = tempDataDir();
    const [root, away] = [join(dataDir, 'results'), join(dataDir, 'away')];
    const engine = await openEngineHere(dataDir);
    try {
      await submit(engine, 'example-slow', pages(120));
      await untilJob(engine, 'job', ({ counts }) => counts.success >= 20);
      nodeDisk.renameSync(root, away);
      if (inItsPlace === 'an empty folder') nodeDisk.mkdirSync(root);
      const paused = await untilPausedForStorage(engine);
      assert.match(paused.reason?.message ?? '', /results is (missing|not the folder)/);
      assert.match(engine.controller.standing().storageProblem ?? '', /results is (missing|not the folder)/);
      if (inItsPlace === 'nothing') assert.equal(nodeDisk.existsSync(root), false, 'it is not made anew');
      else nodeDisk.rmdirSync(root);
      const recovered = nextEvent(engine, ({ kind }) => kind === 'storage-recovered');
      nodeDisk.renameSync(away, root);
      await recovered;
      await assertWhole(engine, 120);
    } finally {
      if (nodeDisk.existsSync(away)) nodeDisk.renameSync(away, root);
      await engine.stop();
    }
  });
}
