import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ItemFormat } from '../../src/contract/item-formats.ts';
import { importItems, takeInItems } from '../../src/controller/intake/intake.ts';
import { submitJob } from '../../src/controller/jobs/submit.ts';
import { type Faults, NO_FAULTS } from '../../src/ports/faults.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { dataDirOf, openIn } from '../adapters/embedded-support.ts';
import { newItems, newJob } from '../support/builders.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { deskWith } from './intake-desk.ts';

const NEVER = new AbortController().signal;

type Bytes = AsyncIterable<Uint8Array>;

async function desk(scraperId = 'county', ledger: Ledger = openMemoryLedger(), faults: Faults = NO_FAULTS) {
  const parts = { ...deskWith(ledger), faults };
  await ledger.createJob(newJob({ jobId: 'j', scraperId }), [], parts.clock.now());
  const take = (bytes: Bytes, format: ItemFormat = 'jsonl', signal = NEVER, limit?: number) =>
    takeInItems(parts, 'j', bytes, listOf(format, limit), signal);
  return { ...parts, take };
}

function listOf(format: ItemFormat, limit = Number.POSITIVE_INFINITY) {
  return { format, columns: new Map(), isStrict: false, limit };
}

const NO_CONFLICTS = { replaced: 0, replacedIds: [], differing: 0, differingIds: [], ignoredColumns: [] };

async function* sent(...pieces: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}

/** `{"apn":"000"}` and so on, a line each. */
function lines(count: number, from = 0): string {
  const apn = (at: number) => String((from + at) % 1000).padStart(3, '0');
  return Array.from({ length: count }, (_, at) => `{"item_id":"p-${from + at}","input":{"apn":"${apn(at)}"}}\n`).join(
    '',
  );
}

test('a limit takes the first good items, across chunks, and nothing is read after them', async () => {
  const { take, ledger } = await desk();
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"apn":\n{"apn":"x"}\n');
    for (let from = 0; ; from += 100) yield Buffer.from(lines(100, from));
  }
  const answer = await take(endless(), 'jsonl', NEVER, 1001);
  assert.ok(answer.kind === 'taken');
  assert.deepEqual([answer.received, answer.added, answer.bad], [1003, 1001, 2]);
  assert.equal((await ledger.job('j'))?.counts.total, 1001);

  const again = await take(sent('{"apn":\n{"apn":"000"}\n{"apn":\n{"apn":"001"}\n'), 'jsonl', NEVER, 1);
  assert.ok(again.kind === 'taken');
  assert.deepEqual(
    [again.received, again.added, again.badLines.map(({ line }) => line)],
    [2, 1, [1]],
    'a line after the last item is not part of the list',
  );
});

test('good lines are kept, and bad ones named by their number and what is wrong', async () => {
  const { take, ledger, clock } = await desk();
  const answer = await take(
    sent('{"apn":"001"}\n{"apn":\n{}\n{"apn":"x"}\n', '\n{"apn":"002"}\n{"apn":"001"}\n{"apn":"003","year":1}'),
  );
  assert.ok(answer.kind === 'taken');
  const { badLines, ...counts } = answer;
  const expected = {
    kind: 'taken',
    received: 7,
    added: 2,
    duplicates: 1,
    ...NO_CONFLICTS,
    bad: 4,
    isIncomplete: false,
  };
  assert.deepEqual(counts, expected);
  assert.deepEqual(
    badLines.map(({ line, code }) => [line, code]),
    [
      [2, 'unreadable'],
      [3, 'unreadable'],
      [4, 'invalid_input'],
      [8, 'invalid_input'],
    ],
  );
  assert.match(badLines[2]?.problem ?? '', /^apn: .*must match/);
  assert.match(badLines[3]?.problem ?? '', /year/);
  const job = await ledger.job('j');
  assert.equal(job?.counts.total, 2);
  assert.ok((job?.openUntil ?? Number.POSITIVE_INFINITY) <= clock.now(), 'the job need not wait any more');
});

test('CSV and JSON are taken in like JSON lines', async () => {
  for (const [format, text] of [
    ['csv', 'item_id,apn\na,001\nb,x\n'],
    ['json', '[{"item_id":"a","apn":"001"},{"item_id":"b","apn":"x"}]'],
  ] as const) {
    const { take, ledger } = await desk();
    const answer = await take(sent(text), format);
    assert.ok(answer.kind === 'taken');
    assert.deepEqual([answer.added, answer.bad, answer.badLines[0]?.line], [1, 1, format === 'csv' ? 3 : 2]);
    assert.deepEqual((await ledger.item('j', 'a'))?.input, { apn: '001' });
  }
});

test('a hundred bad lines are reported, in texts of limited length, and the others are counted', async () => {
  const { take } = await desk();
  const long = `{"item_id":"x","input":{"${'é'.repeat(5000)}":1}}\n`;
  const answer = await take(sent(long, '{"apn":"x"}\n'.repeat(2500)));
  assert.ok(answer.kind === 'taken');
  assert.deepEqual([answer.bad, answer.badLines.length, answer.added], [2501, 100, 0]);
  assert.ok((answer.badLines[0]?.problem.length ?? 0) < 600);
});

for (const [format, text, code] of [
  ['json', '[{"apn":"001"},{"apn":', 'rest_unread'],
  ['csv', 'apn\n001\n"002\n003\n', 'lines_lost'],
] as const) {
  test(`a ${format} list that is cut off is incomplete, however many bad lines precede that`, async () => {
    const { take } = await desk();
    const answer = await take(sent(text), format);
    assert.ok(answer.kind === 'taken');
    assert.deepEqual([answer.added, answer.isIncomplete, answer.badLines[0]?.code], [1, true, code]);
    const bad = format === 'csv' ? `apn\n${'x\n'.repeat(150)}${text.slice(4)}` : `[${'1,'.repeat(150)}${text.slice(1)}`;
    const { take: again } = await desk();
    const longer = await again(sent(bad), format);
    assert.ok(longer.kind === 'taken');
    assert.deepEqual([longer.badLines.length, longer.isIncomplete], [100, true]);
    assert.ok(longer.badLines.every((line) => line.code !== code));
  });
}

test('the same list sent twice is added once', async () => {
  const { take, ledger } = await desk();
  await take(sent(lines(1500)));
  const answer = await take(sent(lines(1700)));
  assert.ok(answer.kind === 'taken');
  assert.deepEqual([answer.added, answer.duplicates], [200, 1500]);
  assert.equal((await ledger.job('j'))?.counts.total, 1700);
});

test('items of a scraper that is gone or broken are taken as they are: its worker will say what is wrong', async () => {
  for (const scraperId of ['gone', 'broken']) {
    const { take } = await desk(scraperId);
    const answer = await take(sent('{"apn":"x"}\n'));
    assert.ok(answer.kind === 'taken');
    assert.equal(answer.added, 1);
  }
});

test('a job that does not exist takes nothing, and not a byte is read for it', async () => {
  const { take, ledger, clock, ...parts } = await desk();
  async function* unread(): Bytes & AsyncGenerator<Uint8Array> {
    yield assert.fail('it was read');
  }
  assert.deepEqual(await takeInItems({ ledger, clock, ...parts }, 'nobody', unread(), listOf('jsonl'), NEVER), {
    kind: 'missing',
  });
  await ledger.changeJob('j', { kind: 'cancel' }, clock.now());
  const counts = { received: 0, added: 0, duplicates: 0, ...NO_CONFLICTS, bad: 0, badLines: [], isIncomplete: false };
  assert.deepEqual(await take(unread()), { kind: 'closed', status: 'cancelled', ...counts });
});

test('a job that is cancelled meanwhile says how much it had taken, and the sender is stopped', async () => {
  const { take, ledger, clock } = await desk();
  let isStopped = false;
  async function* cancelled() {
    try {
      yield Buffer.from(lines(1000));
      yield Buffer.from(lines(1000, 1000));
      await ledger.changeJob('j', { kind: 'cancel' }, clock.now());
      for (let from = 2000; ; from += 1000)
        yield Buffer.from(from % 2000 === 0 ? lines(1000, from) : '{}\n'.repeat(1000));
    } finally {
      isStopped = true;
    }
  }
  const answer = await take(cancelled());
  assert.ok(answer.kind === 'closed');
  assert.equal(answer.status, 'cancelled');
  assert.equal(answer.added, (await ledger.job('j'))?.counts.total);
  assert.ok(answer.added >= 1000 && answer.added < answer.received);
  assert.ok(isStopped);
});

test('bytes that make no sense as a whole are reported, along with what was taken before', async () => {
  const { take } = await desk('any');
  const none = { received: 0, added: 0, duplicates: 0, ...NO_CONFLICTS, bad: 0, badLines: [], isIncomplete: false };
  assert.deepEqual(await take(sent('a,,c\n1,2,3\n'), 'csv'), {
    kind: 'unreadable',
    message: 'column 2 of the header has no name',
    ...none,
  });
  const object = await take(sent('{"apn":"001"}'), 'json');
  assert.ok(object.kind === 'unreadable');
  assert.match(object.message, /array/);
});

test('an upload that breaks off leaves what was added, and the job open for a while', async () => {
  const { take, ledger, clock } = await desk();
  async function* breaking() {
    yield Buffer.from(lines(1500));
    throw new Error('the sender is gone');
  }
  await assert.rejects(take(breaking()), /the sender is gone/);
  const job = await ledger.job('j');
  assert.equal(job?.counts.total, 1000);
  assert.equal(job?.openUntil, clock.now() + 60_000);
});

test('a silent sender is abandoned when the signal aborts, and what came before stays', async () => {
  const { take, ledger } = await desk();
  const stop = new AbortController();
  async function* silent() {
    yield Buffer.from(lines(1000));
    stop.abort(new Error('the server stops'));
    await new Promise(() => {});
  }
  await assert.rejects(take(silent(), 'jsonl', stop.signal), /the server stops/);
  assert.equal((await ledger.job('j'))?.counts.total, 1000);
  await assert.rejects(take(sent(lines(1)), 'jsonl', stop.signal), /the server stops/);
});

test('a slow sender’s items are in the ledger before there is a whole chunk of them', async () => {
  const { take, ledger, clock } = await desk();
  const totals: (number | undefined)[] = [];
  async function* slow() {
    for (let at = 0; at < 4; at += 1) {
      yield Buffer.from(lines(1, at));
      await clock.advance(700);
      totals.push((await ledger.job('j'))?.counts.total);
      assert.ok(((await ledger.job('j'))?.openUntil ?? 0) > clock.now());
    }
  }
  await take(slow());
  assert.deepEqual(totals, [0, 0, 3, 3]);
});

test('one chunk is read while another is being committed, and no more', async () => {
  const ledger: Ledger = openMemoryLedger();
  const addItems = ledger.addItems.bind(ledger);
  let waiting: PromiseWithResolvers<void> | null = null;
  ledger.addItems = async (...call) => {
    if (call[1].length > 0) {
      assert.equal(waiting, null, 'two commits at once');
      waiting = Promise.withResolvers();
      await waiting.promise;
      waiting = null;
    }
    return await addItems(...call);
  };
  const { take, clock } = await desk('county', ledger);
  let given = 0;
  async function* source() {
    while (given < 6) {
      given += 1;
      yield Buffer.from(lines(1000, given * 1000));
    }
  }
  const taken = take(source());
  for (let commit = 1; commit <= 6; commit += 1) {
    for (let turn = 0; turn < 50; turn += 1) await clock.turn();
    const held = waiting as PromiseWithResolvers<void> | null;
    assert.ok(held, `commit ${commit} is under way`);
    assert.equal(given, Math.min(6, commit + 1));
    held.resolve();
  }
  const answer = await taken;
  assert.ok(answer.kind === 'taken' && answer.added === 6000);
});

test('a real ledger takes in what it is given, in its order', async (t) => {
  const { take, ledger } = await desk('county', openIn(t, dataDirOf(t)).ledger);
  const answer = await take(sent(lines(2300)));
  assert.ok(answer.kind === 'taken');
  assert.deepEqual([answer.received, answer.added, answer.bad], [2300, 2300, 0]);
  const [last] = await ledger.itemsAt('j', 2299, 1);
  assert.deepEqual([last?.itemId, last?.input], ['p-2299', { apn: '299' }]);
});

test('an import that was cut off and sent again adds every item once, and then lets the job be completed', async () => {
  const { ledger, clock, ...parts } = await desk();
  const items = newItems(10);
  async function* cutOff() {
    yield items.slice(0, 6);
    throw new Error('the sender is gone');
  }
  await assert.rejects(importItems({ ledger, clock, ...parts }, 'j', cutOff()), /the sender is gone/);
  assert.ok(((await ledger.job('j'))?.openUntil ?? 0) > clock.now(), 'the job waits for the rest');
  const answer = await importItems({ ledger, clock, ...parts }, 'j', [items.slice(0, 6), items.slice(6)]);
  assert.deepEqual(answer, { added: 4, duplicates: 6 });
  const job = await ledger.job('j');
  assert.equal(job?.counts.total, 10);
  assert.ok((job?.openUntil ?? Number.POSITIVE_INFINITY) <= clock.now());
});

test('an import for a job that is cancelled or does not exist is not taken', async () => {
  const { ledger, clock, ...parts } = await desk();
  assert.deepEqual(await importItems({ ledger, clock, ...parts }, 'nobody', [newItems(1)]), { kind: 'missing' });
  await ledger.changeJob('j', { kind: 'cancel' }, clock.now());
  assert.deepEqual(await importItems({ ledger, clock, ...parts }, 'j', [newItems(1)]), {
    kind: 'closed',
    status: 'cancelled',
  });
});

test('a job that was submitted takes in more, validated like its first items', async () => {
  const parts = { ...deskWith(openMemoryLedger()), faults: NO_FAULTS };
  await submitJob(parts, { job_id: 'made', scraper_id: 'county', items: [{ input: { apn: '001' } }] }, null);
  const bytes = sent('{"apn":"001"}\n{"apn":"002"}\n{"apn":"2"}\n');
  const answer = await takeInItems(parts, 'made', bytes, listOf('jsonl'), NEVER);
  assert.ok(answer.kind === 'taken');
  assert.deepEqual([answer.added, answer.duplicates, answer.bad], [1, 1, 1]);
});

test('a CSV from elsewhere is taken as it is: columns are mapped, and unknown ones left out of input and id', async () => {
  const { ledger, ...parts } = await desk();
  const list = { ...listOf('csv'), columns: new Map([['apn', 'Parcel']]) };
  const bytes = sent('Owner,Parcel,\r\nSMITH,001,\r\n"PE\u00d1A, J",002,x\r\n,3,\r\n');
  const answer = await takeInItems({ ledger, ...parts }, 'j', bytes, list, NEVER);
  assert.ok(answer.kind === 'taken');
  assert.deepEqual([answer.added, answer.bad, answer.ignoredColumns], [2, 1, ['Owner', 'column 3']]);
  assert.deepEqual((await ledger.item('j', '002'))?.input, { apn: '002' });
});

test('a CSV with which no row could be used is refused before anything is stored', async () => {
  const { take, ledger } = await desk();
  for (const list of ['001\n002\n', 'APN\n001\n', 'item_id,parcel\na,001\n']) {
    const answer = await take(sent(list), 'csv');
    assert.deepEqual([answer.kind, 'added' in answer && answer.added], ['unreadable', 0], list);
  }
  assert.equal((await ledger.job('j'))?.counts.total, 0);
});
