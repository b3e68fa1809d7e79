import assert from 'node:assert/strict';
import { test } from 'node:test';
import { S3Client } from '@aws-sdk/client-s3';
import { openS3ResultStore } from '../../../src/adapters/aws/result-store.ts';
import { refusalOf, resultError } from '../../../src/adapters/aws/results/errors.ts';
import { StorageTrouble } from '../../../src/ports/storage-trouble.ts';
import { bytes, KEEP, KEY } from '../../contract/result-store/bytes.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { brokenLine, inRoom, NOBODY, refused } from './result-room.ts';

const DOING = { what: 'cannot read a', action: 's3:GetObject', bucket: 'b' } as const;

test('a fault that passes is trouble, a full storage is full, and the rest has to be repaired', () => {
  const passing = [
    refused('SlowDown', 503),
    refused('InternalError', 500),
    refused('OfSomebodyElse', 502),
    refused('UnknownError', 429),
    refused('BadDigest', 400),
    Object.assign(refused('TimeoutError', 0), { $metadata: {} }),
    brokenLine(),
    Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }),
  ];
  for (const error of passing) {
    const ours = resultError(error, DOING);
    assert.ok(ours instanceof StorageTrouble && ours.kind === 'io' && ours.cause === error, error.message);
    assert.match(ours.message, /^cannot read a: /);
  }
  for (const error of [
    refused('XMinioStorageFull', 507),
    refused('UnknownError', 507),
    refused('QuotaExceeded', 403),
  ]) {
    const ours = resultError(error, DOING);
    assert.ok(ours instanceof StorageTrouble && ours.kind === 'full', error.message);
  }
  const lasting = [refused('InvalidArgument', 400), refused('AccessDenied', 403), refused('NotImplemented', 501)];
  for (const error of [...lasting, new TypeError('a bug'), 'a text', refused('CredentialsProviderError', 0)]) {
    assert.ok(!(resultError(error, DOING) instanceof StorageTrouble), String(error));
  }
  const known = new StorageTrouble('full', 'of ours');
  assert.equal(resultError(known, DOING), known);
});

test('a refusal says what to allow, and a missing bucket what to do', () => {
  assert.equal(
    resultError(refused('AccessDenied', 403), { ...DOING, action: 's3:PutObject' }).message,
    'cannot read a: access denied: s3:PutObject in the bucket b: AccessDenied: AccessDenied, says the test. ' +
      'Grant it to the role, or check its credentials',
  );
  assert.match(resultError(refused('AccessDenied', 403), DOING).message, /without s3:ListBucket, a missing key/);
});

test('for servers that have no code for an error, the status decides', () => {
  assert.equal(refusalOf(refused('UnknownError', 412)), 'taken');
  assert.equal(refusalOf(refused('UnknownError', 404)), 'missing');
  assert.equal(refusalOf(refused('UnknownError', 403)), 'not-allowed');
  assert.equal(refusalOf(refused('constructor', 400)), 'other');
  assert.equal(refusalOf(undefined), 'other');
});

inRoom('without its bucket, every call says which one is missing and how to make it', async ({ s3, clock }) => {
  const store = openS3ResultStore({ s3, bucket: 'not-there', clock });
  const message = /there is no bucket not-there: run trawl doctor --create, or check WEB_SCRAPER_RESULTS_BUCKET$/;
  await assert.rejects(store.put(KEY, bytes('x'), KEEP), message);
  await assert.rejects(store.put(KEY, new Uint8Array(9 << 20), KEEP), message);
  await assert.rejects(store.get(KEY), message);
  await assert.rejects(store.removeAll('job-1/'), message);
  await assert.rejects(store.probe(), message);
});

test('a server that does not listen is trouble, once the SDK has given up', async () => {
  const s3 = new S3Client({ ...NOBODY, endpoint: 'http://127.0.0.1:9', forcePathStyle: true, maxAttempts: 1 });
  const store = openS3ResultStore({ s3, bucket: 'b', clock: new FakeClock() });
  await assert.rejects(store.get(KEY), (error) => {
    return error instanceof StorageTrouble && /cannot read .*ECONNREFUSED/.test(error.message);
  });
  s3.destroy();
});
