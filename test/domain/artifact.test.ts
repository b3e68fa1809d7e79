import assert from 'node:assert/strict';
import { posix } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  ARTIFACT_KINDS,
  apartName,
  artifactKey,
  hashedSegment,
  isSafeKey,
  itemSegment,
  jobPrefix,
  safeSegment,
} from '../../src/domain/artifact.ts';
import { anyText, sha256 } from './builders.ts';

const at = { jobId: 'job-1', itemId: '101-01-001', attempt: 1 };

function keyOf(change: Partial<typeof at>, artifact = { kind: 'html', extension: 'html' } as const): string {
  return artifactKey({ ...at, ...change }, artifact, sha256);
}

test('the first attempt has the key that users expect', () => {
  assert.equal(keyOf({}), 'job-1/items/101-01-001/html.html');
  assert.equal(keyOf({}, { kind: 'html', extension: 'html' }), 'job-1/items/101-01-001/html.html');
  assert.equal(artifactKey(at, { kind: 'data', extension: 'json' }, sha256), 'job-1/items/101-01-001/data.json');
  assert.equal(
    artifactKey(at, { kind: 'screenshot', extension: 'png' }, sha256),
    'job-1/items/101-01-001/screenshot.png',
  );
});

test('every later attempt has a folder of its own', () => {
  assert.equal(keyOf({ attempt: 2 }), 'job-1/items/101-01-001/attempt-2/html.html');
  assert.notEqual(keyOf({ attempt: 2 }), keyOf({ attempt: 3 }));
});

test('an attempt whose key is taken gets a folder that no other attempt can have', () => {
  const apart = apartName('101-01-001', 'chosen', sha256);
  assert.match(apart, /^[0-9a-f]{16}$/);
  assert.equal(
    artifactKey({ ...at, apart }, { kind: 'html', extension: 'html' }, sha256),
    `job-1/items/101-01-001/attempt-1-${apart}/html.html`,
  );
  // The same holds for two items that share a folder on a disk that folds case, whatever is chosen for them.
  assert.notEqual(apartName('503-51-079A', 'chosen', sha256), apartName('503-51-079a', 'chosen', sha256));
  assert.notEqual(apartName('101-01-001', 'chosen', sha256), apartName('101-01-001', 'another', sha256));
});

test('an item keeps its name if that is safe, upper case included', () => {
  for (const id of ['503-51-079A', 'Parcel_7', 'A', 'APN.12-B', 'x'.repeat(100)]) {
    assert.equal(itemSegment(id, sha256), id);
    assert.equal(keyOf({ itemId: id }), `job-1/items/${id}/html.html`);
  }
});

test('an item whose name is not safe gets a stem and a digest, in whatever case it is written', () => {
  const reserved = ['CON', 'Nul.txt', 'com1', 'LPT9.log', 'aux', 'Prn'];
  for (const id of ['', '..', 'A/B', 'A.', '.A', 'A..B', 'A B', 'É', 'X'.repeat(101), 'A~B', ...reserved]) {
    const segment = itemSegment(id, sha256);
    assert.match(segment, /^[a-z0-9-]{0,40}~[0-9a-f]{32}$/, JSON.stringify(id));
    assert.equal(segment, hashedSegment(id, sha256));
    assert.equal(segment, safeSegment(id, sha256), 'the name that it always had');
  }
});

test('the folder of a job has the name that it always had: jobs that differ in case never share one', () => {
  assert.match(jobPrefix('County-A', sha256), /^county-a~[0-9a-f]{32}\/$/);
  assert.notEqual(jobPrefix('County-A', sha256), jobPrefix('county-a', sha256));
});

test('an extension that could do harm is replaced', () => {
  assert.equal(artifactKey(at, { kind: 'document', extension: 'z' }, sha256), 'job-1/items/101-01-001/document.z');
  assert.equal(artifactKey(at, { kind: 'document', extension: 'mp9' }, sha256), 'job-1/items/101-01-001/document.mp9');
  for (const extension of ['', '../x', 'PDF', 'a/b', 'html ', 'x'.repeat(11), 'tar.gz']) {
    const key = artifactKey(at, { kind: 'document', extension }, sha256);
    assert.equal(key, 'job-1/items/101-01-001/document.bin', extension);
  }
});

test('everything of a job is under its prefix, and nothing of a job whose name begins the same way is', () => {
  assert.equal(jobPrefix('job-1', sha256), 'job-1/');
  assert.ok(keyOf({}).startsWith(jobPrefix('job-1', sha256)));
  assert.ok(!keyOf({ jobId: 'job-10' }).startsWith(jobPrefix('job-1', sha256)));
});

test('plain ids are their own segment', () => {
  for (const id of ['a', '7', 'ab', '99', 'job-1', '101-01-001', 'a_b.c', 'x'.repeat(100)])
    assert.equal(safeSegment(id, sha256), id);
});

test('ids that a disk, a shell or a browser would read differently get a stem and a digest', () => {
  const odd = ['', '.', '..', '../etc', 'a/b', 'a\\b', '-a', 'a-', '.hidden', 'a..b', 'A', 'a b', 'é', 'x'.repeat(101)];
  const reserved = ['con', 'nul.txt', 'com1', 'lpt9.log', 'aux', 'prn'];
  for (const id of [...odd, ...reserved, 'a~b', 'a\0b', 'a\nb', '%2e%2e', 'a:b', 'a*']) {
    const segment = safeSegment(id, sha256);
    assert.match(segment, /^[a-z0-9-]{0,40}~[0-9a-f]{32}$/, JSON.stringify(id));
  }
  assert.match(safeSegment('Main Street 12', sha256), /^main-street-12~/);
});

test('ids that differ only in case, in Unicode form or in what is cut off do not meet', () => {
  const ids = [
    ...['parcel', 'Parcel', 'PARCEL', 'a/b', 'a\\b', 'a b', 'a-b', 'a--b', 'ab', '../a', '..a', 'a..'],
    ...['\u00e9', 'e\u0301', 'ﬁ', 'fi', 'ı', 'i', 'İ', 'K', 'K', 'k', 'ß', 'ss', 'SS'],
    ...['x'.repeat(101), 'x'.repeat(102), `${'x'.repeat(200)}a`, `${'x'.repeat(200)}b`, '\ud800', '\ud801', '\ufffd'],
  ];
  const folded = new Set(ids.map((id) => safeSegment(id, sha256).normalize('NFKC').toLowerCase()));
  assert.equal(folded.size, new Set(ids).size);
});

test('a key is safe if every segment of it is', () => {
  const hashed = `${'a'.repeat(40)}~${'09af'.repeat(8)}`;
  const safe = [
    'a',
    'a/b/c.json',
    'job-1/manifests/full/part-0.json',
    'job-1/job_metadata.json',
    hashed,
    `a/${hashed.slice(40)}`,
    'job-1/items/503-51-079A/html.html',
    `job-1/manifests/items/${hashed}.json`,
  ];
  for (const key of safe) assert.ok(isSafeKey(key), key);
  const unsafe = [
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '..',
    'a/../b',
    './a',
    'a/.',
    'A/NUL',
    'a b',
    'a\\b',
    'a/con',
    'a\0',
    'é',
    'a~b',
  ];
  const notHashed = [
    `a${hashed}`,
    `${hashed}0`,
    hashed.slice(0, -1),
    `${hashed.slice(0, -1)}g`,
    `A${hashed.slice(1)}`,
    `${hashed}.exe`,
  ];
  for (const key of [...unsafe, ...notHashed]) assert.ok(!isSafeKey(key), JSON.stringify(key));
});

/** Short texts over characters that collide, traverse or fold somewhere, so that generated pairs nearly meet. */
const trickyId = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', 'A', 'é', 'e\u0301', '/', '\\', '.', '-', '~', ' ', '\0', '😀'),
    maxLength: 6,
  }),
  anyText(300),
  fc.stringMatching(/^[a-z0-9._-]{1,110}$/),
);

test('two different ids never have the same segment, not even on a disk that folds case or Unicode', () => {
  fc.assert(
    fc.property(trickyId, trickyId, (one, other) => {
      fc.pre(one !== other);
      const fold = (id: string) => safeSegment(id, sha256).normalize('NFKC').toLowerCase();
      assert.notEqual(fold(one), fold(other));
    }),
    { numRuns: 500 },
  );
});

test('two different items never have the same segment, and on a disk that folds case only if that is all that differs', () => {
  fc.assert(
    fc.property(trickyId, trickyId, (one, other) => {
      fc.pre(one !== other);
      const [first, second] = [itemSegment(one, sha256), itemSegment(other, sha256)];
      assert.notEqual(first, second);
      const fold = (text: string) => text.normalize('NFKC').toLowerCase();
      if (fold(first) === fold(second)) assert.deepEqual([first, second], [one, other]);
    }),
    { numRuns: 500 },
  );
});

test('no id makes a key that leaves its folder, and every segment is short and plain', () => {
  fc.assert(
    fc.property(
      trickyId,
      trickyId,
      fc.integer({ min: 1, max: 1000 }),
      fc.constantFrom(...ARTIFACT_KINDS),
      trickyId,
      (jobId, itemId, attempt, kind, extension) => {
        const key = artifactKey({ jobId, itemId, attempt }, { kind, extension }, sha256);
        assert.equal(posix.normalize(key), key);
        assert.ok(isSafeKey(key));
        assert.ok(key.startsWith(`${jobPrefix(jobId, sha256)}items/`));
        const segments = key.split('/');
        assert.equal(segments.length, attempt === 1 ? 4 : 5);
        for (const segment of segments) assert.match(segment, /^[A-Za-z0-9~][A-Za-z0-9._~-]{0,99}$/);
      },
    ),
    { numRuns: 500 },
  );
});

test('no two of job, item, attempt, kind and extension share a key', () => {
  const place = fc.record({
    jobId: fc.constantFrom('a', 'A', 'a/items/b'),
    itemId: fc.constantFrom('b', 'B', 'b/attempt-2', 'attempt-2'),
    attempt: fc.integer({ min: 1, max: 3 }),
    kind: fc.constantFrom(...ARTIFACT_KINDS),
    extension: fc.constantFrom('html', 'json', 'pdf'),
  });
  fc.assert(
    fc.property(place, place, (one, other) => {
      fc.pre(JSON.stringify(one) !== JSON.stringify(other));
      assert.notEqual(artifactKey(one, one, sha256), artifactKey(other, other, sha256));
    }),
    { numRuns: 500 },
  );
});
