import { after } from 'node:test';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { openAwsClients } from '../../src/adapters/aws/clients.ts';
import { openS3ResultStore } from '../../src/adapters/aws/result-store.ts';
import { startS3 } from '../support/aws/emulators.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { resultStoreContract } from './result-store-contract.ts';

const emulator = await startS3();
const { s3, close } = openAwsClients({
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  endpoints: { s3: emulator.url },
});
after(async () => {
  close();
  await emulator.stop();
});

let buckets = 0;

resultStoreContract('s3', async () => {
  buckets += 1;
  const bucket = `contract-${process.pid}-${buckets}`;
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  return { store: openS3ResultStore({ s3, bucket, clock: new FakeClock() }), close() {} };
});
