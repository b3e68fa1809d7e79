import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createParser } from 'eventsource-parser';
import { EmbeddedItemWaits } from '../../src/adapters/embedded/item-waits.ts';
import { jobEventSchema } from '../../src/contract/events.ts';
import { reasonSchema, summarySchema } from '../../src/contract/job-answers.ts';
import { EventStream } from '../../src/controller/engine/events.ts';
import { JobFeeds, type JobFeedsDeps } from '../../src/controller/feed/job-feeds.ts';
import { RateBook } from '../../src/controller/feed/rate-book.ts';
import type { JobEvent } from '../../src/domain/job.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { addSpan, NO_SPANS } from '../../src/domain/recording/step-spans.ts';
import { addSeen, type JobSteps, NO_STEPS } from '../../src/domain/recording/step-statistics.ts';
import { NO_ITEM_WAITS } from '../../src/ports/item-waits.ts';
import type { LedgerChange, SettledItem } from '../../src/ports/ledger.ts';
import { BY_USER, failedWith, MANIFEST, TRIP } from '../domain/builders.ts';
import { newItems, newJob, partOf, SCRAPED } from '../support/builders.ts';
import { deleteJob } from '../support/delete-job.ts';
import { dueBy } from '../support/due-by.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryStepRecords } from '../support/memory/step-records.ts';

const JOB = 'job-1';

/** After this one the breaker trips, whatever the policy. */
const STOPPER = failedWith('proxy_config');

async function setUp({ items = 10, settings = {} as JobFeedsDeps['settings'] } = {}) {
  const clock = new FakeClock();
  const ledger = openMemoryLedger();
  const events = new EventStream();
  // News of what a worker on another machine settled: it comes after the counters show it, or never.
  const late: LedgerChange[] = [];
  let isElsewhere = false;
  let isSilent = false;
  ledger.subscribe((change) => {
    if (isSilent) return;
    if (isElsewhere && change.kind === 'settled') late.push(change);
    else events.publish(change);
  });
  const reads: string[] = [];
  const counting = {
    job(jobId: string) {
      reads.push(jobId);
      return ledger.job(jobId);
    },
  };
  const problems: unknown[] = [];
  events.subscribe((event) => event.kind === 'engine-error' && problems.push(event.error));
  const rates = new RateBook({ events, clock });
  const itemWaits = new EmbeddedItemWaits();
  const stepRecords = openMemoryStepRecords(ledger);
  const open = (more: JobFeedsDeps['settings'] = {}) =>
    new JobFeeds({
      events,
      ledger: counting,
      rates,
      itemWaits,
      stepRecords,
      clock,
      settings: { ...settings, ...more },
    });
  const feeds = open();
  await ledger.createJob(
    newJob({ policy: { throttling: { max_concurrent_workers: 1000 } } }),
    newItems(items),
    clock.now(),
  );
  const change = (event: JobEvent) => ledger.changeJob(JOB, event, clock.now());
  const settle = async (count: number, outcome: Outcome = SCRAPED) => {
    const { refs } = (await ledger.dispatch(JOB, 1, clock.now())) ?? { refs: [] };
    for (const claim of await ledger.claim(refs.slice(0, count), 'worker', clock.now() + 60_000, clock.now())) {
      if (typeof claim === 'object') await ledger.settle([partOf(claim, outcome)], clock.now());
    }
    await ledger.recall(refs.slice(count), clock.now());
  };
  /** Changes that another controller makes, and of which this one has not heard yet. */
  const unheard = async (work: () => Promise<unknown>) => {
    isSilent = true;
    await work();
    isSilent = false;
  };
  const settleElsewhere = async (count: number) => {
    isElsewhere = true;
    await settle(count);
    isElsewhere = false;
    return () => {
      for (const change of late.splice(0)) events.publish(change);
    };
  };
  const publishSettled = (...items: Partial<SettledItem>[]) =>
    events.publish({ kind: 'settled', jobId: JOB, items: items.map(settledItem) });
  return {
    clock,
    ledger,
    events,
    rates,
    itemWaits,
    stepRecords,
    feeds,
    open,
    reads,
    problems,
    change,
    settle,
    settleElsewhere,
    unheard,
    publishSettled,
  };
}

function settledItem(item: Partial<SettledItem> = {}, seq = 0): SettledItem {
  return { seq, itemId: `p-${seq}`, durationMs: 10, status: 'success', errorType: null, artifacts: 0, ...item };
}

interface Heard {
  readonly kind: string;
  readonly id: string | undefined;
  readonly data: Record<string, unknown>;
}

/** A client: what it was sent so far, and what it would send to go on. */
class Client {
  readonly heard: Heard[] = [];
  readonly comments: string[] = [];
  readonly pieces: Uint8Array[] = [];
  readonly stop = new AbortController();
  lastId: string | null = null;
  retryMs: number | null = null;
  isEnded = false;
  readonly #parser = createParser({
    onEvent: ({ event, id, data }) => {
      const heard = { event, data: JSON.parse(data) };
      assert.deepEqual(jobEventSchema.parse(heard), heard, 'an event that is not as documented');
      this.heard.push({ kind: heard.event ?? '', id, data: heard.data });
      if (id !== undefined) this.lastId = id;
    },
    onComment: (comment) => this.comments.push(comment),
    onRetry: (ms) => {
      this.retryMs = ms;
    },
  });

  get kinds(): string[] {
    return this.heard.map(({ kind }) => kind);
  }

  last(kind: string): Record<string, unknown> {
    const found = this.heard.findLast((event) => event.kind === kind);
    assert.ok(found, `there was no ${kind} among ${this.kinds}`);
    return found.data;
  }

  take(piece: Uint8Array): void {
    this.pieces.push(piece);
    this.#parser.feed(Buffer.from(piece).toString());
  }

  /** Reads all that comes, as soon as it comes. */
  async read(stream: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const piece of stream) this.take(piece);
    this.isEnded = true;
  }
}

/** A client that has read what there was at the beginning, and goes on reading. */
async function connect(feeds: JobFeeds, clock: FakeClock, lastEventId: string | null = null, jobId = JOB) {
  const client = new Client();
  const stream = await feeds.watch(jobId, lastEventId, client.stop.signal);
  assert.ok(typeof stream === 'object', `not watched: ${stream}`);
  const done = client.read(stream);
  await clock.turn();
  return Object.assign(client, { done });
}

test('a new watcher learns how long to wait before reconnecting, and the current state of the job', async () => {
  const { feeds, clock } = await setUp();
  const client = await connect(feeds, clock);
  assert.equal(client.retryMs, 2000);
  assert.deepEqual(client.kinds, ['status', 'progress']);
  const summary = summarySchema.parse(client.last('status')['summary']);
  assert.equal(summary.total, 10);
  assert.deepEqual(client.last('status'), { job_id: JOB, status: 'pending', reason: null, summary });
  assert.deepEqual(client.last('progress'), {
    job_id: JOB,
    status: 'pending',
    progress_pct: 0,
    items_per_second: null,
    eta_seconds: null,
    forecast: {
      ...{ items_per_second: null, eta_seconds: null, eta_low_seconds: null, eta_high_seconds: null },
      ...{ failure_rate: null, requests_expected: null, bytes_expected: null, cost_expected: null },
    },
    summary,
    discovery: null,
    waiting: [],
    waiting_for: null,
    limit: 1000,
    max_limit: 1000,
  });
  // A client that is cut off in the middle of it gets all of it again.
  assert.equal(client.heard[0]?.id, undefined);
  assert.match(client.heard[1]?.id ?? '', /-0$/);
  assert.equal(feeds.watchers, 1);
});

test('outcomes, progress and a new status are sent once per tick, the first of them at once', async () => {
  const { feeds, clock, settle, reads } = await setUp();
  const client = await connect(feeds, clock);
  await clock.advance(1000);
  const before = reads.length;
  await settle(1);
  await clock.advance(1);
  assert.deepEqual(client.kinds.slice(2), ['items', 'progress', 'status']);
  assert.deepEqual(client.last('items'), {
    job_id: JOB,
    outcomes: [{ item_id: 'p-0', status: 'success', error_type: null, duration_ms: 10 }],
    omitted: 0,
  });
  assert.equal(client.last('progress')['progress_pct'], 10);
  assert.equal(client.last('status')['status'], 'in_progress');
  await settle(1);
  await settle(2);
  await clock.advance(498);
  assert.equal(client.heard.length, 5);
  await clock.advance(1);
  assert.deepEqual(client.kinds.slice(5), ['items', 'progress']);
  assert.equal((client.last('items')['outcomes'] as unknown[]).length, 3);
  assert.equal(client.last('progress')['progress_pct'], 40);
  assert.equal(reads.length - before, 2);
});

test('a new status is sent without waiting for the tick, with its reason', async () => {
  const { feeds, clock, settle, change } = await setUp();
  const client = await connect(feeds, clock);
  await clock.advance(1000);
  await settle(1);
  await clock.advance(1);
  const heard = client.heard.length;
  await change({ kind: 'pause', reason: BY_USER });
  await clock.turn();
  await clock.turn();
  assert.deepEqual(client.kinds.slice(heard), ['progress', 'status']);
  assert.equal(client.last('status')['status'], 'paused');
  assert.equal(reasonSchema.parse(client.last('status')['reason']).message, BY_USER.message);
});

test('the start of a job is sent without waiting for the tick', async () => {
  const { feeds, clock, ledger } = await setUp();
  const client = await connect(feeds, clock);
  assert.equal(client.last('status')['status'], 'pending');
  await ledger.dispatch(JOB, 1, clock.now());
  await clock.turn();
  await clock.turn();
  assert.equal(client.last('status')['status'], 'in_progress');
});

test('with many outcomes, a hundred are listed, failures first, and the others are counted', async () => {
  const { feeds, clock, publishSettled } = await setUp();
  const client = await connect(feeds, clock);
  const many = Array.from({ length: 500 }, () => ({}));
  publishSettled(...many);
  publishSettled({ itemId: 'bad-1', status: 'failed', errorType: 'blocked' });
  publishSettled(...many, { itemId: 'bad-2', status: 'failed', errorType: 'timeout' });
  await clock.advance(500);
  const { outcomes, omitted } = client.last('items') as { outcomes: { item_id: string }[]; omitted: number };
  assert.equal(outcomes.length, 100);
  assert.equal(omitted, 1002 - 100);
  assert.deepEqual(
    outcomes.slice(0, 3).map(({ item_id }) => item_id),
    ['bad-1', 'bad-2', 'p-0'],
  );
});

test('a hundred watchers cost no more lookups than one, and share the bytes', async () => {
  const { feeds, clock, settle, reads } = await setUp();
  const clients = await Promise.all(Array.from({ length: 100 }, () => connect(feeds, clock)));
  await clock.advance(1000);
  const before = reads.length;
  for (let n = 0; n < 5; n += 1) {
    await settle(1);
    await clock.advance(500);
  }
  assert.ok(reads.length - before <= 6, `${reads.length - before} looks`);
  const [first] = clients;
  assert.ok(first !== undefined && first.pieces.length >= 5);
  for (const { pieces } of clients) {
    assert.equal(pieces.length, first.pieces.length);
    for (const [index, piece] of pieces.slice(1).entries()) assert.equal(piece, first.pieces[index + 1]);
  }
});

test('a job without watchers is not looked at', async () => {
  const { clock, settle, reads, change } = await setUp();
  await settle(5);
  await change({ kind: 'pause', reason: BY_USER });
  await clock.advance(60_000);
  assert.deepEqual(reads, []);
});

test('the stream of a job ends when its results are ready, and says so', async () => {
  const { feeds, clock, settle, change, events } = await setUp({ items: 1 });
  const client = await connect(feeds, clock);
  await settle(1);
  await change({ kind: 'finish' });
  await clock.advance(1000);
  assert.equal(client.last('status')['status'], 'in_progress');
  assert.equal(client.isEnded, false);
  await change({ kind: 'complete', round: 1, manifest: MANIFEST });
  events.publish({ kind: 'manifest-written', jobId: JOB, parts: 3 });
  await client.done;
  assert.deepEqual([client.kinds.at(-1), client.last('end')['status']], ['end', 'completed']);
  assert.equal(client.last('end')['results_ready'], true);
  assert.equal(feeds.watchers, 0);

  const late = await connect(feeds, clock);
  assert.deepEqual([late.kinds, late.isEnded], [['status', 'progress', 'end'], true]);
  // A browser that reconnects by itself is asked to stay away.
  for (const { lastId } of [client, late]) {
    assert.equal(await feeds.watch(JOB, lastId, new AbortController().signal), 'over');
  }
  assert.equal(feeds.watchers, 0);
});

test('the end waits for outcomes that are counted but whose news is still on the way', async () => {
  const { feeds, clock, settleElsewhere, change } = await setUp({ items: 3 });
  const client = await connect(feeds, clock);
  const tellLate = await settleElsewhere(3);
  await change({ kind: 'finish' });
  await change({ kind: 'complete', round: 1, manifest: MANIFEST });
  await clock.advance(1000);
  assert.deepEqual([client.kinds.includes('end'), client.isEnded], [false, false]);
  // A watcher that comes meanwhile is not sent away, and misses nothing either.
  const other = await connect(feeds, clock, client.lastId);
  tellLate();
  await clock.turn();
  await Promise.all([client.done, other.done]);
  for (const { heard } of [client, other]) {
    assert.deepEqual(
      heard.flatMap(({ data }) => ((data['outcomes'] ?? []) as { item_id: string }[]).map(({ item_id }) => item_id)),
      ['p-0', 'p-1', 'p-2'],
    );
    assert.equal(heard.at(-1)?.kind, 'end');
  }
});

test('outcomes whose news is lost delay the end for three seconds, and are counted as left out', async () => {
  const { feeds, clock, settleElsewhere, change } = await setUp({ items: 3 });
  const client = await connect(feeds, clock);
  await settleElsewhere(3);
  await change({ kind: 'finish' });
  await change({ kind: 'complete', round: 1, manifest: MANIFEST });
  await clock.advance(2900);
  assert.equal(client.isEnded, false);
  await clock.advance(200);
  await client.done;
  assert.deepEqual(client.last('items'), { job_id: JOB, outcomes: [], omitted: 3 });
  assert.equal(client.last('end')['status'], 'completed');
});

test('a job that is retried and ends again does not wait for outcomes of the first time', async () => {
  const { feeds, clock, ledger, settle, change } = await setUp({ items: 2 });
  const client = await connect(feeds, clock);
  await settle(2, failedWith('blocked'));
  await change({ kind: 'finish' });
  await change({ kind: 'complete', round: 1, manifest: MANIFEST });
  await clock.advance(500);
  await client.done;
  const everything = { errorType: null, itemIds: null, groupKeys: null, preview: false };
  await ledger.reopen(JOB, everything, { after: null, limit: 10 }, clock.now(), clock.now());
  const again = await connect(feeds, clock, client.lastId);
  await clock.advance(500);
  await settle(2);
  await change({ kind: 'finish' });
  await change({ kind: 'complete', round: 2, manifest: MANIFEST });
  await clock.advance(500);
  await again.done;
  assert.equal(again.kinds.at(-1), 'end');
});

test('a failed job is over when no worker is working on it any more, without results', async () => {
  const { feeds, clock, ledger, settle, change } = await setUp();
  await settle(1);
  const { refs } = (await ledger.dispatch(JOB, 1, clock.now())) ?? { refs: [] };
  const [lease] = await ledger.claim(refs, 'worker', clock.now() + 60_000, clock.now());
  assert.ok(typeof lease === 'object');
  await ledger.settle([partOf(lease, STOPPER)], clock.now());
  const client = await connect(feeds, clock);
  await change(TRIP);
  await clock.advance(500);
  assert.equal(client.last('status')['status'], 'failed');
  assert.equal(client.isEnded, false);
  await ledger.expire(dueBy(clock.now() + 60_000, 0), 100);
  await clock.advance(500);
  await client.done;
  assert.deepEqual([client.last('end')['status'], client.last('end')['results_ready']], ['failed', false]);
});

test('a job that is opened again is watched again', async () => {
  const { feeds, clock, settle, change } = await setUp();
  await settle(1, STOPPER);
  await change(TRIP);
  const first = await connect(feeds, clock);
  assert.equal(first.kinds.at(-1), 'end');
  await change({ kind: 'resume' });
  // At once: the feed has not had the time to look by itself.
  const second = await connect(feeds, clock, first.lastId);
  await clock.advance(500);
  assert.equal(second.isEnded, false);
  assert.deepEqual([second.kinds.includes('reset'), second.last('status')['status']], [false, 'in_progress']);
});

test('watchers of a job that is deleted are notified that it is gone', async () => {
  const { feeds, clock, ledger, events } = await setUp();
  const client = await connect(feeds, clock);
  await clock.advance(1000);
  await deleteJob(ledger, JOB);
  events.publish({ kind: 'job-removed', jobId: JOB });
  await client.done;
  assert.deepEqual([client.kinds.at(-1), client.last('gone')], ['gone', { job_id: JOB }]);
  assert.equal(await feeds.watch(JOB, null, new AbortController().signal), 'missing');
  assert.equal(feeds.watchers, 0);
});

test('a change without a notification is found by periodic checks: a job deleted, or created again under its id', async () => {
  for (const isMadeAnew of [false, true]) {
    const { feeds, clock, ledger } = await setUp();
    const client = await connect(feeds, clock);
    await clock.advance(1000);
    await deleteJob(ledger, JOB);
    if (isMadeAnew) await ledger.createJob(newJob(), newItems(1), clock.now());
    await clock.advance(6000);
    assert.deepEqual([client.kinds.at(-1), client.isEnded], ['gone', true]);
  }
});

test('a job that has the id of a deleted one is watched, although the feed of the deleted one is still open', async () => {
  const { feeds, clock, ledger, unheard } = await setUp();
  const first = await connect(feeds, clock);
  await clock.advance(1000);
  first.stop.abort();
  await first.done;
  await unheard(async () => {
    await deleteJob(ledger, JOB);
    await ledger.createJob(newJob(), newItems(1), clock.now());
  });
  const second = await connect(feeds, clock);
  assert.deepEqual([second.isEnded, second.kinds[0]], [false, 'status']);
  second.stop.abort();
  await second.done;
  assert.equal(feeds.watchers, 0);
});

test('a watcher that comes back is given what it missed, from the very next event on', async () => {
  const { feeds, clock, settle } = await setUp();
  const client = await connect(feeds, clock);
  const steady = await connect(feeds, clock);
  await clock.advance(1000);
  await settle(1);
  await clock.advance(500);
  client.stop.abort();
  await client.done;
  for (let n = 0; n < 4; n += 1) {
    await settle(1);
    await clock.advance(500);
  }
  const all = steady.heard.map(({ kind, id }) => `${kind} ${id}`);
  for (const [index, { id }] of steady.heard.entries()) {
    if (id === undefined) continue;
    const back = await connect(feeds, clock, id);
    assert.equal(back.retryMs, 2000);
    assert.deepEqual(
      back.heard.map((event) => `${event.kind} ${event.id}`),
      all.slice(index + 1),
    );
    back.stop.abort();
  }
});

test('what happens while there are no watchers is kept for a minute, and then forgotten', async () => {
  const { feeds, clock, settle, reads } = await setUp();
  const client = await connect(feeds, clock);
  await clock.advance(1000);
  client.stop.abort();
  await client.done;
  await settle(1);
  await clock.advance(55_000);
  const back = await connect(feeds, clock, client.lastId);
  assert.deepEqual([back.kinds.includes('reset'), back.kinds.includes('items')], [false, true]);
  back.stop.abort();
  await back.done;
  await clock.advance(70_000);
  assert.equal(clock.sleepers, 0);
  const before = reads.length;
  await settle(1);
  await clock.advance(60_000);
  assert.equal(reads.length, before);
  const late = await connect(feeds, clock, back.lastId);
  assert.deepEqual(late.kinds, ['reset', 'status', 'progress']);
  assert.deepEqual(late.last('reset'), { job_id: JOB, reason: 'unknown_id' });
});

test('an id of an earlier process, of another job, or made up is answered with a reset and the current state', async () => {
  const { feeds, open, clock, ledger } = await setUp();
  await ledger.createJob(newJob({ jobId: 'job-2' }), newItems(1), clock.now());
  const earlier = await connect(open(), clock);
  const other = await connect(feeds, clock, null, 'job-2');
  const own = await connect(feeds, clock);
  const beyond = own.lastId?.replace(/\d+$/, '999');
  for (const id of [
    earlier.lastId,
    other.lastId,
    beyond,
    '',
    '-',
    'x-1',
    '\u0000',
    `${own.lastId}x`,
    '9'.repeat(5000),
  ]) {
    assert.ok(typeof id === 'string');
    const client = await connect(feeds, clock, id);
    assert.deepEqual(client.kinds, ['reset', 'status', 'progress'], id);
    assert.equal(client.last('reset')['reason'], 'unknown_id');
  }
});

test('an id whose next events are no longer kept is too old', async () => {
  const { feeds, clock, settle } = await setUp({ settings: { maxFrames: 2 } });
  const client = await connect(feeds, clock);
  for (let n = 0; n < 4; n += 1) {
    await settle(1);
    await clock.advance(500);
  }
  const back = await connect(feeds, clock, client.heard[1]?.id);
  assert.deepEqual(back.kinds, ['reset', 'status', 'progress']);
  assert.equal(back.last('reset')['reason'], 'too_old');
  assert.equal(back.last('progress')['progress_pct'], 40);
});

test('frames are kept up to a number of bytes, per job and in total', async () => {
  for (const limit of [{ maxBytesPerFeed: 3000 }, { maxBytes: 3000 }]) {
    const { feeds, clock, publishSettled } = await setUp({ settings: limit });
    const client = await connect(feeds, clock);
    const ids: (string | null)[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.push(client.lastId);
      publishSettled({ itemId: 'x'.repeat(1000) });
      await clock.advance(500);
    }
    const [first, last] = [await connect(feeds, clock, ids[0]), await connect(feeds, clock, ids[4])];
    assert.equal(first.last('reset')['reason'], 'too_old');
    assert.deepEqual([last.kinds[0], last.kinds.includes('reset')], ['items', false]);
  }
});

test('a watcher that does not read skips what it missed, is notified of that, and holds nothing meanwhile', async () => {
  const { feeds, clock, settle } = await setUp({ items: 50, settings: { maxFrames: 3 } });
  const client = new Client();
  const stream = await feeds.watch(JOB, null, client.stop.signal);
  assert.ok(typeof stream === 'object');
  const step = async () => {
    const { value } = await stream.next();
    if (value) client.take(value);
  };
  await step();
  for (let n = 0; n < 20; n += 1) {
    await settle(1);
    await clock.advance(500);
  }
  await step();
  assert.deepEqual(client.kinds, ['status', 'progress', 'reset', 'status', 'progress']);
  assert.equal(client.last('reset')['reason'], 'too_slow');
  assert.equal(client.last('progress')['progress_pct'], 40);
  await settle(1);
  await clock.advance(500);
  await step();
  assert.deepEqual(client.kinds.slice(5), ['items', 'progress']);
});

test('a watcher gets a sign of life after fifteen seconds of silence, and only then', async () => {
  const { feeds, clock, change, settle } = await setUp();
  await settle(1);
  await change({ kind: 'pause', reason: BY_USER });
  const client = await connect(feeds, clock);
  await clock.advance(14_000);
  assert.deepEqual(client.comments, []);
  await clock.advance(2000);
  assert.deepEqual(client.comments, ['keep-alive']);
  await clock.advance(45_000);
  assert.equal(client.comments.length, 4);
  assert.deepEqual(client.kinds, ['status', 'progress']);
  // This is at 61 s; anything that is sent ends the silence.
  await clock.advance(9000);
  await change({ kind: 'pause', reason: { ...BY_USER, message: 'for another reason' } });
  await clock.advance(10_000);
  assert.deepEqual([client.kinds.at(-1), client.comments.length], ['status', 4]);
  await clock.advance(6000);
  assert.equal(client.comments.length, 5);
});

test('the number of watchers is limited, and each one that leaves makes room for another', async () => {
  const { feeds, clock } = await setUp({ settings: { maxWatchers: 3 } });
  const clients = await Promise.all([1, 2, 3].map(() => connect(feeds, clock)));
  const signal = new AbortController().signal;
  assert.deepEqual([await feeds.watch(JOB, null, signal), feeds.watchers], ['full', 3]);
  clients[0]?.stop.abort();
  assert.equal(feeds.watchers, 2);
  await connect(feeds, clock);
  // The rest of a stream whose reader broke off is never asked for.
  const stream = await feeds.watch(JOB, null, AbortSignal.abort());
  assert.equal(stream, 'full');
  for (const client of clients) client.stop.abort();
  await Promise.all(clients.map(({ done }) => done));
  assert.equal(feeds.watchers, 1);
});

test('a watcher that leaves before it is registered, stops reading, or asks for a job that does not exist is not counted', async () => {
  const { feeds, clock } = await setUp();
  assert.equal(typeof (await feeds.watch(JOB, null, AbortSignal.abort())), 'object');
  assert.equal(feeds.watchers, 0);
  const stream = await feeds.watch(JOB, null, new AbortController().signal);
  assert.ok(typeof stream === 'object');
  await stream.next();
  assert.equal(feeds.watchers, 1);
  await stream.return();
  assert.equal(feeds.watchers, 0);
  assert.equal(await feeds.watch('nobody', null, new AbortController().signal), 'missing');
  assert.equal(feeds.watchers, 0);
  await clock.advance(70_000);
  assert.equal(clock.sleepers, 0);
});

test('jobs watched in passing do not add up', async () => {
  const { feeds, clock, ledger } = await setUp({ settings: { maxWatchers: 2 } });
  for (let n = 0; n < 20; n += 1) {
    await ledger.createJob(newJob({ jobId: `job-x${n}` }), newItems(1), clock.now());
    const client = await connect(feeds, clock, null, `job-x${n}`);
    client.stop.abort();
    await client.done;
    await clock.turn();
    assert.ok(clock.sleepers <= 2, `${clock.sleepers} feeds`);
  }
});

test('closing ends every stream, even that of a watcher that does not read, and leaves nothing open', async () => {
  const { feeds, clock, settle } = await setUp();
  const client = await connect(feeds, clock);
  const slow = await feeds.watch(JOB, null, new AbortController().signal);
  assert.ok(typeof slow === 'object');
  await slow.next();
  // What it has not read yet does not delay the end.
  await settle(1);
  await clock.advance(500);
  await feeds.close();
  await client.done;
  assert.equal((await slow.next()).done, true);
  assert.deepEqual([feeds.watchers, clock.sleepers], [0, 0]);
  assert.equal(await feeds.watch(JOB, null, new AbortController().signal), 'full');
});

test('a ledger that cannot be read is reported, and the feed goes on when it can', async () => {
  const { events, clock, rates, ledger, stepRecords, settle, problems } = await setUp();
  let trouble: Error | null = null;
  const shaky = { job: (id: string) => (trouble === null ? ledger.job(id) : Promise.reject(trouble)) };
  const parts = { events, ledger: shaky, rates, itemWaits: NO_ITEM_WAITS, stepRecords, clock };
  const feeds = new JobFeeds({ ...parts, settings: {} });
  const client = await connect(feeds, clock);
  trouble = new Error('no');
  await settle(1);
  await clock.advance(2000);
  assert.deepEqual(problems, [trouble]);
  await assert.rejects(feeds.watch(JOB, null, new AbortController().signal), trouble);
  assert.equal(feeds.watchers, 1);
  trouble = null;
  await clock.advance(10_000);
  assert.equal(client.last('progress')['progress_pct'], 10);
  assert.equal(client.last('items')['omitted'], 0);
});

test('progress says which items wait for another try, and how many may be in flight', async () => {
  const { feeds, clock, itemWaits, settle } = await setUp();
  const client = await connect(feeds, clock);
  assert.partialDeepStrictEqual(client.last('progress'), { waiting: [], limit: 1000, max_limit: 1000 });
  const until = clock.now() + 40_000;
  await itemWaits.add([{ jobId: JOB, type: 'rate_limited', items: 3, until }], 'worker', clock.now());
  await settle(1);
  await clock.advance(1000);
  const waiting = [{ error_type: 'rate_limited', items: 3, until: new Date(until).toISOString() }];
  assert.partialDeepStrictEqual(client.last('progress'), { waiting });
});

/** What a worker saw of items in which this alternative of step 4 matched. */
function seenSteps(items: number, alternative: number, now: number): JobSteps {
  const step = { path: '4', label: 'click "Search"' };
  const seen = { step, selectors: ['#go', 'text/Search'], spans: addSpan(NO_SPANS, 5), alternative };
  return Array.from({ length: items }).reduce((steps: JobSteps) => addSeen(steps, [seen], now), NO_STEPS);
}

test('a selector that has stopped matching is reported once, to later watchers too, and once more when it is over', async () => {
  const { feeds, clock, stepRecords } = await setUp();
  const client = await connect(feeds, clock);
  await stepRecords.report([{ jobId: JOB, steps: seenSteps(30, 1, clock.now()) }]);
  await clock.advance(20_000);
  await stepRecords.report([{ jobId: JOB, steps: seenSteps(5, 1, clock.now()) }]);
  await clock.advance(20_000);
  assert.deepEqual(client.kinds, ['status', 'progress', 'warnings']);
  const message =
    'step 4, click "Search": the first selector (#go) matched nothing in 30 of 30 items; the second (text/Search) did';
  assert.deepEqual(client.last('warnings'), {
    job_id: JOB,
    warnings: [{ path: 'steps.4', code: 'selector_drift', message }],
  });
  const later = await connect(feeds, clock);
  assert.deepEqual(later.kinds, ['status', 'progress', 'warnings']);
  await clock.advance(60_000);
  await stepRecords.report([{ jobId: JOB, steps: seenSteps(50, 0, clock.now()) }]);
  await clock.advance(20_000);
  assert.deepEqual(client.last('warnings'), { job_id: JOB, warnings: [] });
});
