import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunAnswer } from '../../src/contract/scrape-run-answers.ts';
import { createRun } from '../../src/controller/runs/create-run.ts';
import { writeRun } from '../../src/controller/runs/present-run.ts';
import type { RunBook } from '../../src/ports/run-book.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryRuns } from '../support/memory/run-book.ts';
import { sized } from '../support/sized.ts';

const ITEMS = sized({ quick: 20_000, slow: 100_000 });
const NEVER = new AbortController().signal;

/** A request with this many items, a few at a time; `sent` counts those that were asked for so far. */
function bodyOf(items: number) {
  const counter = { sent: 0 };
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"domain":"large.example","items":[');
    for (; counter.sent < items; counter.sent += 100) {
      const some = Array.from({ length: 100 }, (_, at) => `{"url":"https://large.example/${counter.sent + at}"}`);
      yield Buffer.from(`${counter.sent === 0 ? '' : ','}${some.join()}`);
    }
    yield Buffer.from(']}');
  }
  return { counter, bytes: bytes() };
}

test('a large run is read no faster than it is stored, and is written page by page', async () => {
  const book = openMemoryRuns();
  const { counter, bytes } = bodyOf(ITEMS);
  let stored = 0;
  let mostWaiting = 0;
  const runs: Pick<RunBook, 'draft'> = {
    async draft() {
      const draft = await book.draft();
      const add = async (urls: readonly string[]) => {
        mostWaiting = Math.max(mostWaiting, counter.sent - stored);
        stored += urls.length;
        await draft.add(urls);
      };
      return { ...draft, add };
    },
  };
  const answer = await createRun({ runs, clock: new FakeClock() }, bytes, NEVER);
  assert.ok(answer.kind === 'created');
  assert.equal(answer.run.counts.total, ITEMS);
  assert.ok(mostWaiting <= 1200, `${mostWaiting} items were in memory at a time`);

  const pieces: string[] = [];
  let longest = 0;
  for await (const piece of writeRun(book, answer.run)) {
    longest = Math.max(longest, piece.length);
    pieces.push(Buffer.from(piece).toString());
  }
  assert.ok(longest < 100_000, `a piece has ${longest} bytes`);
  const { items = [] } = JSON.parse(pieces.join('')) as RunAnswer;
  assert.deepEqual([items.length, items.at(-1)?.url], [ITEMS, `https://large.example/${ITEMS - 1}`]);
});

test('a request that ends in the middle, or is aborted, leaves no run and no draft', async () => {
  const book = openMemoryRuns();
  let dropped = 0;
  const runs: Pick<RunBook, 'draft'> = {
    async draft() {
      const draft = await book.draft();
      return {
        ...draft,
        async drop() {
          dropped += 1;
          await draft.drop();
        },
      };
    },
  };
  const deps = { runs, clock: new FakeClock() };
  async function* broken(): AsyncGenerator<Uint8Array> {
    for await (const piece of bodyOf(3000).bytes) {
      if (!Buffer.from(piece).includes(']')) yield piece;
    }
  }
  const answer = await createRun(deps, broken(), NEVER);
  assert.equal(answer.kind, 'malformed');
  const gone = new AbortController();
  async function* silent(): AsyncGenerator<Uint8Array> {
    yield* broken();
    gone.abort(new Error('the client is gone'));
    await new Promise(() => {});
  }
  await assert.rejects(createRun(deps, silent(), gone.signal), /the client is gone/);
  assert.equal(dropped, 2);
  const query = { sortBy: 'createdAt', sortOrder: 'asc', offset: 0, limit: 10 } as const;
  assert.deepEqual(await book.list(query), { runs: [], total: 0 });
});
