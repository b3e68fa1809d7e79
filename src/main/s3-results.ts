import { openAwsClients } from '../adapters/aws/clients.ts';
import { openS3ResultStore } from '../adapters/aws/result-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { ResultsModule } from './results-backend.ts';

/** Results in a bucket of S3. */
export const S3_RESULTS_MODULE: ResultsModule<'s3'> = {
  describe: ({ results }) => ({ bucket: results.bucket }),

  async open({ results }, clock) {
    const { store, close } = openBucket(results.bucket, clock);
    return {
      store,
      links: store,
      pathOf: ({ key }) => key,
      hasItemManifests: false,
      // What S3 has acknowledged survives any machine of ours.
      check: async () => true,
      probe: () => store.probe(),
      sweep: async () => {},
      sweepEvery: async () => {},
      close,
    };
  },

  async openExisting({ results }, clock) {
    return { kind: 'found', ...openBucket(results.bucket, clock) };
  },

  async inspect({ results }, options) {
    const { checkBucket } = await import('./aws-checks.ts');
    return await checkBucket(results.bucket, options);
  },
};

function openBucket(bucket: string, clock: Clock) {
  const clients = openAwsClients();
  const store = openS3ResultStore({ ...clients, bucket, clock });
  return { store, close: () => clients.close() };
}
