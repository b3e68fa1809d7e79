import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { KeyTaken, type PutOptions, type ResultStore } from '../../src/ports/result-store.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface StoreParts {
  readonly store: ResultStore;
}

const KEEP: PutOptions = { contentType: 'text/html', encoding: 'identity', ifTaken: 'keep' };
const REPLACE: PutOptions = { ...KEEP, ifTaken: 'replace' };
const KEY = 'job-1/items/p-0/html.html';

/** Everything that the comments of `ports/result-store.ts` promise. `open` makes a store without bytes. */
export function resultStoreContract(
  name: string,
  open: () => Promise<Opened<StoreParts>>,
  options: SuiteOptions = {},
): void {
  suite<StoreParts>(`result store on ${name}`, open, options, (add) => {
    add('what was put is read back whole, with its size and hash, however it is kept', async ({ store }) => {
      const bodies = { empty: bytes(''), small: bytes('<p>ü</p>'), large: noise(3_000_000) };
      for (const encoding of ['identity', 'gzip'] as const) {
        for (const [kind, body] of Object.entries(bodies)) {
          const key = `job-1/items/${kind}/${encoding}.bin`;
          const stored = await store.put(key, body, { ...KEEP, encoding });
          assert.deepEqual(stored, { key, size: body.length, sha256: sha256(body), encoding });
          assert.ok(same(await store.get(key), body), key);
        }
      }
    });

    add('under a key with nothing there is nothing', async ({ store }) => {
      assert.equal(await store.get(KEY), null);
      await store.put(KEY, bytes('x'), KEEP);
      assert.equal(await store.get('job-1/items/p-0/html'), null);
      assert.equal(await store.get('job-1/items/p-0'), null);
      assert.equal(await store.get(`${KEY}/more`), null);
    });

    add('the same bytes put twice are no error, and answer the same', async ({ store }) => {
      const first = await store.put(KEY, bytes('<p>'), { ...KEEP, encoding: 'gzip' });
      assert.deepEqual(await store.put(KEY, bytes('<p>'), { ...KEEP, encoding: 'gzip' }), first);
      assert.ok(same(await store.get(KEY), bytes('<p>')));
    });

    add('the first bytes under a key stay, and whoever brings others is told', async ({ store }) => {
      await store.put(KEY, bytes('first'), KEEP);
      await assert.rejects(store.put(KEY, bytes('second'), KEEP), KeyTaken);
      await assert.rejects(store.put(KEY, bytes(''), { ...KEEP, encoding: 'gzip' }), KeyTaken);
      assert.ok(same(await store.get(KEY), bytes('first')));
    });

    add('where the last bytes win they do, whatever lay there', async ({ store }) => {
      await store.put(KEY, bytes('first'), { ...KEEP, encoding: 'gzip' });
      const stored = await store.put(KEY, bytes('second'), REPLACE);
      assert.deepEqual([stored.size, stored.sha256, stored.encoding], [6, sha256(bytes('second')), 'identity']);
      assert.ok(same(await store.get(KEY), bytes('second')));
      await store.put(KEY, bytes('third'), { ...REPLACE, encoding: 'gzip' });
      assert.ok(same(await store.get(KEY), bytes('third')));
      await assert.rejects(store.put(KEY, bytes('fourth'), KEEP), KeyTaken);
    });

    add('of two who put different bytes at the same time one wins, whole', async ({ store }) => {
      const bodies = [1, 2, 3, 4].map((seed) => noise(200_000, seed));
      const answers = await Promise.allSettled(bodies.map((body) => store.put(KEY, body, KEEP)));
      const won = answers.flatMap((answer, index) => (answer.status === 'fulfilled' ? [bodies[index]] : []));
      assert.equal(won.length, 1);
      const kept = await store.get(KEY);
      assert.ok(won[0] && same(kept, won[0]));
      for (const answer of answers) if (answer.status === 'rejected') assert.ok(answer.reason instanceof KeyTaken);
    });

    add('many who put the same bytes at the same time all succeed', async ({ store }) => {
      const body = noise(100_000);
      const answers = await Promise.all(Array.from({ length: 8 }, () => store.put(KEY, body, KEEP)));
      assert.ok(answers.every((answer) => answer.sha256 === sha256(body)));
      assert.ok(same(await store.get(KEY), body));
    });

    add('a reader sees old or new bytes, never a mixture', async ({ store }) => {
      const [old, young] = [noise(500_000, 1), noise(400_000, 2)];
      await store.put(KEY, old, REPLACE);
      const writes = (async () => {
        for (let round = 0; round < 10; round += 1) await store.put(KEY, round % 2 === 0 ? young : old, REPLACE);
      })();
      for (let round = 0; round < 20; round += 1) {
        const seen = await store.get(KEY);
        assert.ok(same(seen, old) || same(seen, young));
      }
      await writes;
    });

    add('the bytes are the store’s own: changing the array changes nothing', async ({ store }) => {
      const body = bytes('abc');
      await store.put(KEY, body, KEEP);
      body.fill(0);
      const read = await store.get(KEY);
      assert.ok(same(read, bytes('abc')));
      read?.fill(0);
      assert.ok(same(await store.get(KEY), bytes('abc')));
    });

    add('removing a prefix removes all that is under it, and nothing beside it', async ({ store }) => {
      for (const key of ['job-1/a.json', 'job-1/items/p-0/html.html', 'job-10/a.json', 'job-2/job-1/a.json']) {
        await store.put(key, bytes(key), { ...KEEP, encoding: key.endsWith('html') ? 'gzip' : 'identity' });
      }
      assert.equal(await store.removeAll('job-1/'), 2);
      assert.equal(await store.get('job-1/a.json'), null);
      assert.equal(await store.get('job-1/items/p-0/html.html'), null);
      assert.ok(same(await store.get('job-10/a.json'), bytes('job-10/a.json')));
      assert.ok(same(await store.get('job-2/job-1/a.json'), bytes('job-2/job-1/a.json')));
      assert.equal(await store.removeAll('job-1/'), 0);
      assert.equal(await store.removeAll('nobody/'), 0);
      await store.put('job-1/a.json', bytes('other'), KEEP);
    });

    add('a key that is no path of safe segments is refused', async ({ store }) => {
      const unsafe = ['', '/', '/a', 'a/', 'a//b', '.', '..', '../a', 'a/../b', 'a/./b', '.a', 'a\\b', 'a b', 'A', 'ä'];
      unsafe.push('a\0b', 'c:a', 'nul', 'a/con.html', 'a\n', '%2e%2e/a', `${'x'.repeat(101)}`);
      for (const key of unsafe) {
        await assert.rejects(store.put(key, bytes('x'), KEEP), `put ${JSON.stringify(key)}`);
        await assert.rejects(store.get(key), `get ${JSON.stringify(key)}`);
        await assert.rejects(store.removeAll(`${key}/`), `removeAll ${JSON.stringify(key)}`);
      }
      await assert.rejects(store.removeAll('job-1'));
      await assert.rejects(store.removeAll(''));
    });

    add('whatever is put under whatever safe key comes back', async ({ store }) => {
      const segment = fc.stringMatching(/^[a-z0-9]([a-z0-9_-]{0,20}[a-z0-9])?$/);
      const keys = fc.tuple(segment, segment).map(([job, item]) => `x-${job}/items/x-${item}/data.json`);
      const body = fc.uint8Array({ maxLength: 5000 });
      const encoding = fc.constantFrom('identity' as const, 'gzip' as const);
      const expected = new Map<string, Uint8Array>();
      await fc.assert(
        fc.asyncProperty(keys, body, encoding, async (key, content, how) => {
          const stored = await store.put(key, content, { ...REPLACE, encoding: how });
          expected.set(key, content);
          assert.equal(stored.sha256, sha256(content));
          for (const [other, kept] of [...expected].slice(-5)) assert.ok(same(await store.get(other), kept), other);
        }),
        { numRuns: 60 },
      );
    });
  });
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Bytes without a pattern, so that no encoding makes them short, and each seed others. */
function noise(length: number, seed = 1): Uint8Array {
  const body = new Uint8Array(length);
  let state = seed;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    body[index] = state >>> 24;
  }
  return body;
}

function sha256(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

function same(a: Uint8Array | null, b: Uint8Array): boolean {
  return a !== null && Buffer.compare(a, b) === 0;
}
