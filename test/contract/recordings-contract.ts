import assert from 'node:assert/strict';
import { MAX_SENT_BYTES, type RecordedScraper, type SentRecording } from '../../src/domain/recording/kept-recording.ts';
import type { RecordingTools } from '../../src/main/recording-tools.ts';
import { NOW } from '../support/builders.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export function sentRecording(id: string, more: Readonly<Record<string, unknown>> = {}): SentRecording {
  const steps = [{ type: 'goto', url: `https://${id}.test/{{input.apn}}` }];
  return { document: { id, hosts: [`${id}.test`], steps, ...more }, digest: `digest of ${id}` };
}

function recordedScraper(id: string, version: string, more: Partial<RecordedScraper> = {}): RecordedScraper {
  const texts = { name: `The "${id}"\u2028`, description: '', digest: `${id} ${version}`, key: `key-${id}-${version}` };
  return { id, version, ...texts, hosts: [`${id}.test`], addedAt: NOW, ...more };
}

function claim(key: string) {
  return { key, holder: { kind: 'job', jobId: `job of ${key}` }, at: NOW } as const;
}

/** Everything that the comments of `ports/kept-recordings.ts` and `ports/recording-book.ts` promise. */
export function recordingsContract(
  name: string,
  open: () => Promise<Opened<RecordingTools>>,
  options: SuiteOptions = {},
): void {
  suite<RecordingTools>(`recordings on ${name}`, open, options, (add) => {
    add('a document is read as it was kept, until it is removed', async ({ recordings }) => {
      assert.equal(await recordings.get('k1'), null);
      const [one, other] = [sentRecording('one', { name: 'é \u2028 "' }), sentRecording('other')];
      await recordings.keep('k1', one);
      await recordings.keep('k2', other);
      assert.deepEqual(await recordings.get('k1'), one);
      await recordings.remove('k1');
      await recordings.remove('k1');
      assert.equal(await recordings.get('k1'), null);
      assert.deepEqual(await recordings.get('k2'), other);
    });

    add('a claim is open until its document is confirmed or removed', async ({ recordings }) => {
      assert.deepEqual(await recordings.claims(10), []);
      for (const key of ['k1', 'k2', 'k3']) {
        await recordings.claim(claim(key));
        await recordings.keep(key, sentRecording('one'));
      }
      assert.equal((await recordings.claims(2)).length, 2);
      for (const _ of [1, 2]) await recordings.confirm('k1');
      await recordings.remove('k2');
      assert.deepEqual(await recordings.claims(10), [claim('k3')]);
      assert.notEqual(await recordings.get('k1'), null);
    });

    add('a document of the largest size that is accepted is kept', async ({ recordings }) => {
      const large = sentRecording('large', { steps: 'x'.repeat(MAX_SENT_BYTES) });
      await recordings.keep('k', large);
      assert.deepEqual(await recordings.get('k'), large);
    });

    add(
      'versions of a scraper are listed from the oldest on, those of all scrapers by id',
      async ({ recordingBook }) => {
        assert.deepEqual(await recordingBook.list(), []);
        assert.deepEqual(await recordingBook.versions('b'), []);
        const b9 = recordedScraper('b', '9', { addedAt: NOW + 1 });
        const b10 = recordedScraper('b', '10', { addedAt: NOW + 2 });
        const a = recordedScraper('a', '1 ~ö');
        for (const scraper of [b10, b9, a]) assert.deepEqual(await recordingBook.add(scraper), scraper);
        assert.deepEqual(await recordingBook.versions('b'), [b9, b10]);
        assert.deepEqual(await recordingBook.list(), [a, b9, b10]);
      },
    );

    add('a version never changes: of several calls, one adds it', async ({ recordingBook }) => {
      const given = Array.from({ length: 6 }, (_, at) => recordedScraper('a', '1', { key: `k${at}` }));
      const answers = await Promise.all(given.map((scraper) => recordingBook.add(scraper)));
      const [first] = answers;
      for (const answer of answers) assert.deepEqual(answer, first);
      assert.deepEqual(await recordingBook.versions('a'), [first]);
    });

    add('a version is removed only while it is the one that is meant', async ({ recordingBook }) => {
      const [one, two] = [recordedScraper('a', '1'), recordedScraper('a', '2')];
      for (const scraper of [one, two]) await recordingBook.add(scraper);
      await recordingBook.remove({ ...one, key: 'another' });
      assert.deepEqual(await recordingBook.versions('a'), [one, two]);
      for (const _ of [1, 2]) await recordingBook.remove(one);
      assert.deepEqual(await recordingBook.list(), [two]);
    });
  });
}
