import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CreateBucketCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { openAwsClients } from '../../src/adapters/aws/clients.ts';
import { rowBytes } from '../../src/adapters/aws/dynamo/row-size.ts';
import { Table } from '../../src/adapters/aws/dynamo/table.ts';
import { siteRowsPk } from '../../src/adapters/aws/ledger/keys.ts';
import { provisionTable } from '../../src/adapters/aws/provision/table.ts';
import { openS3ResultStore } from '../../src/adapters/aws/result-store.ts';
import { DynamoRunBook } from '../../src/adapters/aws/run-book.ts';
import { DynamoSiteBook } from '../../src/adapters/aws/site-book.ts';
import { DynamoSiteRows } from '../../src/adapters/aws/site-rows.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import type { BatchTurn } from '../../src/domain/batch-turn.ts';
import type { CachedEntry } from '../../src/domain/cached-page.ts';
import type { PathErrors } from '../../src/domain/path-errors.ts';
import type { RecordedScraper, RecordingClaim, SentRecording } from '../../src/domain/recording/kept-recording.ts';
import { recordingTools } from '../../src/main/recording-tools.ts';
import { siteTools } from '../../src/main/site-data.ts';
import type { RunRow } from '../../src/ports/run-orders.ts';
import { startDynamo, startS3 } from '../support/aws/emulators.ts';
import { pageCacheContract } from './page-cache-contract.ts';
import { pathErrorsContract } from './path-errors-contract.ts';
import { recordingsContract } from './recordings-contract.ts';
import { runBookContract } from './run-book-contract.ts';
import { runOrdersContract } from './run-orders-contract.ts';
import { siteBookContract } from './site-book-contract.ts';

const [dynamoServer, s3Server] = await Promise.all([startDynamo(), startS3()]);
const { dynamo, s3, close } = openAwsClients({
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  endpoints: { dynamo: dynamoServer.url, s3: s3Server.url },
});
after(async () => {
  close();
  await Promise.all([dynamoServer.stop(), s3Server.stop()]);
});

const clock = systemClock();
let opened = 0;

async function open() {
  opened += 1;
  const name = `sites-${process.pid}-${opened}`;
  await provisionTable({ dynamo, tableName: name, clock, signal: new AbortController().signal });
  await s3.send(new CreateBucketCommand({ Bucket: name }));
  const deps = { dynamo, tableName: name, clock };
  const stores = {
    sites: new DynamoSiteBook(deps),
    pageRows: new DynamoSiteRows<CachedEntry>(deps, 'page'),
    errorRows: new DynamoSiteRows<PathErrors>(deps, 'error'),
    turnRows: new DynamoSiteRows<BatchTurn>(deps, 'turn'),
    runRows: new DynamoSiteRows<RunRow>(deps, 'run'),
  };
  return {
    runs: new DynamoRunBook(deps),
    table: new Table(dynamo, name, clock),
    ...recordingTools({
      recordingRows: new DynamoSiteRows<SentRecording>(deps, 'recording'),
      claimRows: new DynamoSiteRows<RecordingClaim>(deps, 'recording-claim'),
      recordedScraperRows: new DynamoSiteRows<RecordedScraper>(deps, 'recorded-scraper'),
    }),
    ...siteTools(stores, openS3ResultStore({ s3, bucket: name, clock })),
    async bodies() {
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: name }));
      return Contents.length;
    },
    close() {},
  };
}

runBookContract('DynamoDB', open);
siteBookContract('DynamoDB', open);
pageCacheContract('DynamoDB and S3', open);
pathErrorsContract('DynamoDB', open);
recordingsContract('DynamoDB', open);
runOrdersContract('DynamoDB', open);

test('the row of an ordinary page is below 1 KB, which is one write unit, also with the version that was kept', async () => {
  const { pageCache, table } = await open();
  const path = '/en/latest/reference/configuration/environment-variables.html?highlight=timeout';
  const key = { site: 'https~docs.example.com', path, method: 'inner_html' } as const;
  const more = {
    title: 'Environment variables - Reference - Example documentation 14.2',
    etag: '"65f0c1e2-1a2b3c-gzip"',
  };
  const url = `https://docs.example.com${path}`;
  const lastModified = 'Wed, 18 Nov 2026 00:00:00 GMT';
  for (const [at, content] of ['x'.repeat(1000), 'x'].entries()) {
    await pageCache.record([
      { kind: 'content', key, url, content, ...more, lastModified, fetchedAt: clock.now() + at },
    ]);
    const [row, ...others] = await table.all({ pk: siteRowsPk('page', key.site) });
    assert.deepEqual(others, []);
    const bytes = row === undefined ? 0 : rowBytes(row);
    assert.equal(bytes > 400 && bytes <= 1024, true, `${bytes} bytes`);
  }
});
