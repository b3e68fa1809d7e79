import assert from 'node:assert/strict';
import { createHash, hash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { type DraftPlace, heldDrafts, SpillingDraft } from '../../src/domain/spilling-draft.ts';

interface TestFile {
  readonly number: number;
  bytes: Buffer;
  state: 'open' | 'sealed' | 'removed';
}

/** Files in memory. `fails` is the number of the append that finds no room. */
function placeOf({ inMemoryBytes = 10, fails = Number.POSITIVE_INFINITY } = {}) {
  const files: TestFile[] = [];
  let appends = 0;
  let writing = 0;
  const place: DraftPlace<TestFile> = {
    inMemoryBytes,
    newHash: () => createHash('sha256'),
    async open() {
      const file: TestFile = { number: files.length, bytes: Buffer.alloc(0), state: 'open' };
      files.push(file);
      return file;
    },
    async append(file, bytes) {
      assert.equal(file.state, 'open');
      appends += 1;
      writing += 1;
      assert.equal(writing, 1, 'one write at a time');
      await new Promise(setImmediate);
      writing -= 1;
      if (appends === fails) throw new Error('no room');
      file.bytes = Buffer.concat([file.bytes, bytes]);
    },
    async seal(file) {
      file.state = 'sealed';
    },
    async remove(file) {
      assert.notEqual(file.state, 'removed', 'removed once');
      file.state = 'removed';
    },
    explain: (error) => new Error('explained', { cause: error }),
  };
  return { place, files };
}

function contentOf(taken: Awaited<ReturnType<SpillingDraft<TestFile>['take']>>): string {
  return Buffer.from('bytes' in taken.content ? taken.content.bytes : taken.content.spilled.bytes).toString('latin1');
}

test('whatever is written, in whatever pieces, is taken whole with its size and hash, and one file at most was made', async () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(pieces, fc.boolean(), async (all, isTogether) => {
      const { place, files } = placeOf();
      const draft = new SpillingDraft(place);
      const writes: Promise<void>[] = [];
      for (const piece of all) {
        const mine = Uint8Array.from(piece);
        const write = draft.write(mine);
        // The array is the caller's again at once.
        mine.fill(0);
        writes.push(write);
        if (!isTogether) await write;
      }
      const taken = await draft.take();
      await Promise.all(writes);
      const whole = Buffer.concat(all);
      assert.equal(contentOf(taken), whole.toString('latin1'));
      assert.deepEqual([taken.size, draft.size, taken.sha256], [whole.length, whole.length, hash('sha256', whole)]);
      assert.equal(files.length, whole.length > 10 ? 1 : 0);
      await draft.remove();
      assert.ok(files.every(({ state }) => state === 'removed'));
    }),
  );
});

test('a draft whose key was taken is put again under another, and after that it is gone', async () => {
  for (const text of ['small', 'larger than ten bytes']) {
    const { place, files } = placeOf();
    const draft = new SpillingDraft(place);
    await draft.write(Buffer.from(text));
    const first = await draft.take();
    await assert.rejects(draft.take(), /already put/);
    await assert.rejects(draft.write(Buffer.from('x')), /already put/);
    // While a put is under way the draft is not the caller's.
    await draft.discard();
    assert.ok(files.every(({ state }) => state === 'sealed'));
    draft.giveBack();
    await assert.rejects(draft.write(Buffer.from('x')), /already put/);
    assert.deepEqual(await draft.take(), first);
    assert.equal(contentOf(first), text);
    await draft.remove();
    await draft.discard();
    assert.ok(files.every(({ state }) => state === 'removed'));
    await assert.rejects(draft.take(), /already/);
  }
});

test('a draft that is discarded while it is written leaves nothing, and takes nothing more', async () => {
  const { place, files } = placeOf();
  const draft = new SpillingDraft(place);
  const writing = draft.write(Buffer.alloc(20));
  const late = draft.write(Buffer.alloc(20));
  const gone = draft.discard();
  await Promise.allSettled([writing, late]);
  await gone;
  assert.equal(draft.size, 0);
  assert.ok(files.every(({ state }) => state === 'removed'));
  await assert.rejects(draft.write(Buffer.alloc(1)), /already discarded/);
  await assert.rejects(draft.take(), /already discarded/);
  await draft.discard();
});

test('where there is no room the writer hears why, and what was written is removed', async () => {
  const { place, files } = placeOf({ fails: 2 });
  const draft = new SpillingDraft(place);
  await draft.write(Buffer.alloc(20));
  await assert.rejects(draft.write(Buffer.alloc(20)), /^Error: explained$/);
  assert.deepEqual(
    files.map(({ state }) => state),
    ['removed'],
  );
  await assert.rejects(draft.take(), /no room for it/);
});

test('a draft belongs to the place that it was made for', async () => {
  const [ours, others] = [placeOf().place, placeOf().place];
  const draft = new SpillingDraft(ours);
  assert.deepEqual([SpillingDraft.isIn(draft, ours), SpillingDraft.isIn(draft, others)], [true, false]);
  assert.equal(SpillingDraft.isIn({ size: 0 }, ours), false);
  const held = new SpillingDraft(heldDrafts(() => createHash('sha256')));
  await held.write(Buffer.alloc(5_000_000, 1));
  const { content } = await held.take();
  assert.ok('bytes' in content && content.bytes.length === 5_000_000);
  await held.remove();
});
