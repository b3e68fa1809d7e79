import { openAwsClients } from './adapters/aws/clients.ts';
import { openS3ResultStore } from './adapters/aws/result-store.ts';
import type { Clock } from './ports/clock.ts';

/** Results in a bucket. In a file of its own, so that the SDK is loaded only by those who go there. */
export function openBucketResults(bucket: string, clock: Clock) {
  const clients = openAwsClients();
  const store = openS3ResultStore({ ...clients, bucket, clock });
  return { store, close: () => clients.close() };
}
