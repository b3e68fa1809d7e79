import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SentRecording } from '../../src/domain/recording/kept-recording.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { RecordingScrapers, RecordingUnreachable, UnusableRecording } from '../../src/scraping/recording-scrapers.ts';
import { FakeClock } from '../support/fake-clock.ts';

function sent(id: string, more: object = {}): SentRecording {
  const steps = [{ type: 'goto', url: 'https://county.test/{{input.apn}}' }];
  return { document: { id, hosts: ['county.test'], steps, ...more }, digest: `digest-${id}` };
}

/** Scrapers of recordings that are kept under their digest, and the keys that were asked for. */
function setUp(get: (key: string) => Promise<SentRecording | null>) {
  const asked: string[] = [];
  const clock = new FakeClock();
  const recordings = {
    get(key: string) {
      asked.push(key);
      return get(key);
    },
  };
  return { asked, clock, scrapers: new RecordingScrapers({ recordings, clock }) };
}

test('a recording is read once, however many jobs and items use it, and the least recently used is forgotten', async () => {
  const { asked, scrapers } = setUp(async (key) => sent(key));
  const find = (id: string, key = id) => scrapers.find({ key, digest: `digest-${id}` });
  const [first, second] = await Promise.all([find('a'), find('a')]);
  assert.equal(first, second);
  assert.deepEqual([first?.id, first?.lane, first?.kind], ['a', 'browser', 'recording']);
  for (let n = 0; n < 49; n += 1) await find(`x${n}`);
  await find('a');
  assert.equal(asked.filter((key) => key === 'a').length, 1);
  await find('y');
  await find('a');
  await find('x0');
  assert.deepEqual([asked.filter((key) => key === 'a').length, asked.filter((key) => key === 'x0').length], [1, 2]);
});

test('a recording that cannot be read now is asked for again', async () => {
  let isAway = true;
  const { scrapers } = setUp(async (key) => {
    if (isAway) throw new Error('connection reset');
    return sent(key);
  });
  await assert.rejects(scrapers.find({ key: 'a', digest: 'digest-a' }), RecordingUnreachable);
  isAway = false;
  assert.equal((await scrapers.find({ key: 'a', digest: 'digest-a' })).id, 'a');
});

test('a recording that does not arrive in time is given up, and storage trouble is passed on', async () => {
  const { clock, scrapers } = setUp(() => new Promise(() => {}));
  const found = scrapers.find({ key: 'a', digest: 'digest-a' });
  const refused = assert.rejects(found, RecordingUnreachable);
  await clock.advance(20_000);
  await refused;
  const full = setUp(async () => Promise.reject(new StorageTrouble('full', 'no room')));
  await assert.rejects(full.scrapers.find({ key: 'a', digest: 'digest-a' }), StorageTrouble);
});

test('a recording that is gone, is another one or cannot be used is reported as such', async () => {
  const { scrapers } = setUp(async (key) => (key === 'none' ? null : sent('a', { steps: [{ type: 'fly' }] })));
  await assert.rejects(scrapers.find({ key: 'none', digest: 'x' }), /is gone/);
  await assert.rejects(scrapers.find({ key: 'a', digest: 'x' }), /was replaced/);
  await assert.rejects(scrapers.find({ key: 'a', digest: 'digest-a' }), UnusableRecording);
});
