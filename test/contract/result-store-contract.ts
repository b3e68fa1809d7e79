import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Draft, KeyTaken, type Put, type PutOptions, type ResultStore } from '../../src/ports/result-store.ts';
import { bytes, KEEP, KEY, noise, REPLACE, same, sha256 } from './result-store/bytes.ts';
import { openCases, type StoreParts } from './result-store/open-cases.ts';
import { sliceCases } from './result-store/slice-cases.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

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

    add('putting the same bytes twice is not an error, and gives the same answer', async ({ store }) => {
      const first = await store.put(KEY, bytes('<p>'), { ...KEEP, encoding: 'gzip' });
      assert.deepEqual(await store.put(KEY, bytes('<p>'), { ...KEEP, encoding: 'gzip' }), first);
      assert.ok(same(await store.get(KEY), bytes('<p>')));
    });

    add('the first bytes under a key stay, and a caller that puts others is refused', async ({ store }) => {
      await store.put(KEY, bytes('first'), KEEP);
      await assert.rejects(store.put(KEY, bytes('second'), KEEP), KeyTaken);
      await assert.rejects(store.put(KEY, bytes(''), { ...KEEP, encoding: 'gzip' }), KeyTaken);
      assert.ok(same(await store.get(KEY), bytes('first')));
    });

    add('where the last bytes are to win they do, whatever was there before', async ({ store }) => {
      await store.put(KEY, bytes('first'), { ...KEEP, encoding: 'gzip' });
      const stored = await store.put(KEY, bytes('second'), REPLACE);
      assert.deepEqual([stored.size, stored.sha256, stored.encoding], [6, sha256(bytes('second')), 'identity']);
      assert.ok(same(await store.get(KEY), bytes('second')));
      await store.put(KEY, bytes('third'), { ...REPLACE, encoding: 'gzip' });
      assert.ok(same(await store.get(KEY), bytes('third')));
      await assert.rejects(store.put(KEY, bytes('fourth'), KEEP), KeyTaken);
    });

    add('bytes that their readers check win in the same way, in whichever encoding', async ({ store }) => {
      for (const [index, encoding] of (['identity', 'gzip', 'identity', 'identity', 'gzip'] as const).entries()) {
        const body = bytes(`version ${index} `.repeat(400));
        const stored = await store.put(KEY, body, { ...KEEP, encoding, ifTaken: 'overwrite' });
        assert.deepEqual([stored.sha256, stored.encoding], [sha256(body), encoding]);
        assert.ok(same(await store.get(KEY), body), `version ${index}`);
      }
    });

    add('when two callers put different bytes at the same time, one wins completely', async ({ store }) => {
      const bodies = [1, 2, 3, 4].map((seed) => noise(200_000, seed));
      const answers = await Promise.allSettled(bodies.map((body) => store.put(KEY, body, KEEP)));
      const won = answers.flatMap((answer, index) => (answer.status === 'fulfilled' ? [bodies[index]] : []));
      assert.equal(won.length, 1);
      const kept = await store.get(KEY);
      assert.ok(won[0] && same(kept, won[0]));
      for (const answer of answers) if (answer.status === 'rejected') assert.ok(answer.reason instanceof KeyTaken);
    });

    add('keys that differ only in case are two keys, or one whose first bytes stay', async ({ store }) => {
      const [upper, lower] = ['job-1/items/503-51-079A/data.json', 'job-1/items/503-51-079a/data.json'];
      assert.equal((await store.put(upper, bytes('first'), KEEP)).key, upper);
      const isApart = await store.put(lower, bytes('second'), KEEP).then(
        ({ key }) => key === lower,
        (error: unknown) => !(error instanceof KeyTaken),
      );
      assert.ok(same(await store.get(upper), bytes('first')));
      assert.ok(same(await store.get(lower), bytes(isApart ? 'second' : 'first')));
      assert.equal(await store.removeAll('job-1/'), isApart ? 2 : 1);
    });

    add('many callers that put the same bytes at the same time all succeed', async ({ store }) => {
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

    openCases(add);
    sliceCases(add);

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

    add('a removal that is stopped removes nothing more, and the next one ends it', async ({ store }) => {
      const keys = Array.from({ length: 7 }, (_, index) => `job-1/items/p-${index}/data.json`);
      for (const key of keys) await store.put(key, bytes(key), KEEP);
      let clears = 0;
      const onClear = () => {
        clears += 1;
      };
      assert.equal(await store.removeAll('job-1/', { mayGoOn: () => false, onClear }), null);
      for (const key of keys) assert.ok(same(await store.get(key), bytes(key)));
      assert.equal(clears, 0);
      assert.equal(await store.removeAll('job-1/', { mayGoOn: () => true, onClear }), 7);
      assert.equal(clears, 1);
    });

    add('a removal says when no key is left, and what is put from then on stays', async ({ store }) => {
      const keys = ['job-1/a.json', 'job-1/items/p-0/data.json'];
      for (const key of keys) await store.put(key, bytes('old'), KEEP);
      const seen: Promise<unknown>[] = [];
      const onClear = () => {
        for (const key of keys) seen.push(store.put(key, bytes('new'), KEEP));
      };
      await store.removeAll('job-1/', { mayGoOn: () => true, onClear });
      assert.equal(seen.length, keys.length);
      await Promise.all(seen);
      for (const key of keys) assert.ok(same(await store.get(key), bytes('new')));
      let clears = 0;
      await store.removeAll('nobody/', { mayGoOn: () => true, onClear: () => clears++ });
      assert.equal(clears, 1, 'also where there was nothing');
    });

    add('what is put together is read back one by one, and answered in order', async ({ store }) => {
      const puts = [
        item('html.html', '<p>'.repeat(2000), 'gzip'),
        item('data.json', '{}'),
        item('metadata.json', ''),
        item('document.pdf', noise(600_000)),
      ];
      const stored = await store.putAll(puts);
      assert.deepEqual(stored, puts.map(answerTo));
      for (const { key, body } of puts) assert.ok(same(await store.get(key), body), key);
      assert.deepEqual(await store.putAll([]), []);
    });

    add('what is put together may go to various places, and beside what is already there', async ({ store }) => {
      await store.put('job-1/items/p-0/html.html', bytes('earlier'), KEEP);
      const puts = [
        { ...item('data.json', 'of p-0') },
        { ...item('data.json', 'of p-1'), key: 'job-1/items/p-1/data.json' },
        { ...item('data.json', 'of the job'), key: 'job-1/data.json' },
        { ...item('data.json', 'of all'), key: 'data.json' },
        { ...item('data.json', 'of p-0 again'), key: 'job-1/items/p-0/attempt-2/data.json' },
      ];
      assert.deepEqual(await store.putAll(puts), puts.map(answerTo));
      for (const { key, body } of puts) assert.ok(same(await store.get(key), body), key);
      assert.ok(same(await store.get('job-1/items/p-0/html.html'), bytes('earlier')));
      const beside = [item('metadata.json', '1'), item('screenshot.png', '2')];
      assert.deepEqual(await store.putAll(beside), beside.map(answerTo));
      assert.ok(same(await store.get('job-1/items/p-0/html.html'), bytes('earlier')));
    });

    add(
      'putting things together a second time is not an error if they are the same, and is refused if not',
      async ({ store }) => {
        const puts = [item('html.html', '<p>', 'gzip'), item('data.json', '{}')];
        const first = await store.putAll(puts);
        assert.deepEqual(await store.putAll(puts), first);
        // It is kept as it was the first time, whatever encoding is asked for now.
        assert.deepEqual(await store.putAll([item('html.html', '<p>'), item('data.json', '{}')]), first);
        await assert.rejects(store.putAll([item('html.html', '<p>'), item('data.json', '[]')]), KeyTaken);
        await assert.rejects(store.putAll([item('metadata.json', '{}'), item('data.json', '[]')]), KeyTaken);
        assert.ok(same(await store.get('job-1/items/p-0/data.json'), bytes('{}')));
        const replaced = { ...item('data.json', '[]'), ifTaken: 'replace' as const };
        assert.deepEqual(await store.putAll([replaced]), [answerTo(replaced)]);
        assert.ok(same(await store.get(replaced.key), bytes('[]')));
      },
    );

    add('a key that is put twice together follows the same rules as one by one', async ({ store }) => {
      const [once, packed] = [item('data.json', 'x'), item('data.json', 'x', 'gzip')];
      assert.deepEqual(await store.putAll([once, packed]), [answerTo(once), answerTo(once)]);
      await assert.rejects(store.putAll([item('html.html', '1'), item('html.html', '2')]), KeyTaken);
      const [early, late] = [
        item('metadata.json', '1'),
        { ...item('metadata.json', '2'), ifTaken: 'replace' as const },
      ];
      await store.putAll([early, late]);
      assert.ok(same(await store.get(early.key), bytes('2')));
    });

    add('when several callers put different sets of bytes together, one set wins as a whole', async ({ store }) => {
      const bodies = [1, 2, 3, 4].map((seed) => [
        item('html.html', noise(90_000, seed), 'gzip'),
        item('data.json', `${seed}`),
      ]);
      const answers = await Promise.allSettled(bodies.map((puts) => store.putAll(puts)));
      const won = answers.flatMap((answer, index) => (answer.status === 'fulfilled' ? [bodies[index] ?? []] : []));
      assert.equal(won.length, 1);
      for (const { key, body } of won[0] ?? []) assert.ok(same(await store.get(key), body), key);
      for (const answer of answers) if (answer.status === 'rejected') assert.ok(answer.reason instanceof KeyTaken);
    });

    add('one unsafe key among those put together is refused', async ({ store }) => {
      await assert.rejects(store.putAll([item('data.json', '{}'), { ...item('x', 'x'), key: '../x' }]));
      await assert.rejects(store.putAll([{ ...item('x', 'x'), key: 'a//x' }, item('data.json', '{}')]));
    });

    add('a draft of any size is put as it is, with its size and hash', async ({ store }) => {
      for (const [name, pieces] of Object.entries(DRAFTS)) {
        const whole = Buffer.concat(pieces);
        const draft = await drafted(store, pieces);
        assert.equal(draft.size, whole.length, name);
        const key = `job-1/items/${name}/document.pdf`;
        const stored = await store.put(key, draft, { ...KEEP, encoding: 'gzip' });
        assert.deepEqual(stored, { key, size: whole.length, sha256: sha256(whole), encoding: 'identity' });
        assert.ok(same(await store.get(key), whole), name);
      }
    });

    add('drafts are put together with other bytes', async ({ store }) => {
      for (const [name, pieces] of Object.entries(DRAFTS)) {
        const [whole, key] = [Buffer.concat(pieces), `job-1/items/${name}/document.pdf`];
        const page = { ...item('', '<p>', 'gzip'), key: `job-1/items/${name}/html.html` };
        const document = { ...item('', ''), key, body: await drafted(store, pieces) };
        const expected = { key, size: whole.length, sha256: sha256(whole), encoding: 'identity' };
        assert.deepEqual(await store.putAll([page, document]), [answerTo(page), expected], name);
        assert.ok(same(await store.get(key), whole), name);
        const again = { ...document, body: await drafted(store, pieces) };
        assert.deepEqual(await store.putAll([page, again]), [answerTo(page), expected], name);
      }
    });

    add('a draft follows the rules of the key it is put under', async ({ store }) => {
      for (const pieces of Object.values(DRAFTS)) {
        await store.put(KEY, bytes('first'), REPLACE);
        await assert.rejects(store.put(KEY, await drafted(store, pieces), KEEP), KeyTaken);
        assert.ok(same(await store.get(KEY), bytes('first')));
        const stored = await store.put(KEY, await drafted(store, pieces), REPLACE);
        assert.ok(same(await store.get(KEY), Buffer.concat(pieces)));
        assert.deepEqual(await store.put(KEY, await drafted(store, pieces), KEEP), stored);
        await assert.rejects(store.put('../x', await drafted(store, pieces), KEEP));
      }
    });

    add('the bytes of a draft are its own: changing the array changes nothing', async ({ store }) => {
      const draft = store.draft();
      const piece = Buffer.alloc(200_000);
      for (const value of [1, 2, 3]) await draft.write(piece.fill(value));
      piece.fill(9);
      await store.put(KEY, draft, KEEP);
      const parts = [1, 2, 3].map((value) => Buffer.alloc(200_000, value));
      assert.ok(same(await store.get(KEY), Buffer.concat(parts)));
    });

    add('a draft that was put or discarded takes no more bytes, and is not put again', async ({ store }) => {
      for (const pieces of Object.values(DRAFTS)) {
        const put = await drafted(store, pieces);
        await store.put(KEY, put, REPLACE);
        const discarded = await drafted(store, pieces);
        await discarded.discard();
        for (const draft of [put, discarded]) {
          await assert.rejects(draft.write(bytes('x')), /already/);
          await assert.rejects(store.put('job-1/more.pdf', draft, KEEP), /already/);
          await draft.discard();
        }
        assert.ok(same(await store.get(KEY), Buffer.concat(pieces)));
        assert.equal(await store.get('job-1/more.pdf'), null);
      }
    });

    add('drafts whose put met a taken key are put under another, or discarded', async ({ store }) => {
      await store.put('job-1/taken/data.json', bytes('other'), KEEP);
      for (const [name, pieces] of Object.entries(DRAFTS)) {
        const [whole, draft] = [Buffer.concat(pieces), await drafted(store, pieces)];
        await store.put(`job-1/taken/${name}.pdf`, bytes('another document'), KEEP);
        await assert.rejects(store.put(`job-1/taken/${name}.pdf`, draft, KEEP), KeyTaken, name);
        await assert.rejects(draft.write(bytes('x')), /already/);
        // Here the draft itself has found a place when the put fails.
        const puts = (folder: string) => [
          { ...item('', ''), key: `${folder}/${name}-new.pdf`, body: draft },
          { ...item('', '{}'), key: `${folder}/data.json` },
        ];
        await assert.rejects(store.putAll(puts('job-1/taken')), KeyTaken, name);
        const [stored] = await store.putAll(puts(`job-1/free-${name}`));
        assert.equal(stored?.sha256, sha256(whole), name);
        assert.ok(same(await store.get(`job-1/free-${name}/${name}-new.pdf`), whole), name);
        await assert.rejects(store.put('job-1/more.pdf', draft, KEEP), /already/);

        const unwanted = await drafted(store, pieces);
        await assert.rejects(store.put(`job-1/taken/${name}.pdf`, unwanted, KEEP), KeyTaken, name);
        await unwanted.discard();
        await assert.rejects(store.put('job-1/more.pdf', unwanted, KEEP), /already/);
      }
    });

    add('a draft of another store is refused', async ({ store }) => {
      const foreign: Draft = { size: 0, async write() {}, async discard() {} };
      await assert.rejects(store.put(KEY, foreign, KEEP), /not one of this store/);
      await assert.rejects(store.putAll([{ ...item('data.json', ''), body: foreign }]), /not one of this store/);
    });

    add('a key that is not a path of safe segments is refused', async ({ store }) => {
      const unsafe = ['', '/', '/a', 'a/', 'a//b', '.', '..', '../a', 'a/../b', 'a/./b', '.a', 'a\\b', 'a b', 'ä'];
      unsafe.push('a\0b', 'c:a', 'nul', 'NUL', 'a/con.html', 'a/Con.html', 'a\n', '%2e%2e/a', `${'x'.repeat(101)}`);
      for (const key of unsafe) {
        await assert.rejects(store.put(key, bytes('x'), KEEP), `put ${JSON.stringify(key)}`);
        await assert.rejects(store.get(key), `get ${JSON.stringify(key)}`);
        await assert.rejects(store.open(key, null), `open ${JSON.stringify(key)}`);
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

/** Some that an adapter may hold in memory, and some that it will not. */
const DRAFTS: Readonly<Record<string, readonly Uint8Array[]>> = {
  empty: [],
  small: [bytes('%PDF-'), bytes(''), noise(1000)],
  large: [noise(100_000, 1), noise(200_000, 2), noise(700_000, 3), bytes('end')],
};

async function drafted(store: ResultStore, pieces: readonly Uint8Array[]): Promise<Draft> {
  const draft = store.draft();
  for (const piece of pieces) await draft.write(piece);
  return draft;
}

interface BytesPut extends Put {
  readonly body: Uint8Array;
}

function item(name: string, body: string | Uint8Array, encoding: PutOptions['encoding'] = 'identity'): BytesPut {
  const content = typeof body === 'string' ? bytes(body) : body;
  return { ...KEEP, key: `job-1/items/p-0/${name}`, body: content, encoding };
}

function answerTo({ key, body, encoding }: BytesPut) {
  return { key, size: body.length, sha256: sha256(body), encoding };
}
