import type { Clock } from '../../ports/clock.ts';
import type { AwsClients, AwsSettings } from './clients.ts';
import { inspectBucket, provisionBucket } from './provision/bucket.ts';
import { type Finding, refusal } from './provision/finding.ts';
import { inspectQueues, provisionQueues } from './provision/queues.ts';
import { inspectTable, provisionTable } from './provision/table.ts';

export interface ProvisioningDeps {
  readonly clock: Clock;
  /** Aborts when the answer is no longer awaited. */
  readonly signal: AbortSignal;
}

/** What to check; without a bucket if the results are elsewhere. */
type Provisioned = Omit<AwsSettings, 'overrides' | 'bucket'> & { readonly bucket: string | null };

/** Checks credentials, table, queues and bucket, and changes none of them. */
export async function inspectAws(
  clients: AwsClients,
  { bucket, ...settings }: Provisioned,
  deps: ProvisioningDeps,
): Promise<readonly Finding[]> {
  const credentials = await inspectCredentials(clients);
  // Without them every other check would fail the same way.
  if (credentials.result === 'problem') return [credentials];
  const shared = { ...clients, ...settings, ...deps };
  const others = await Promise.all([
    inspectTable(shared),
    inspectQueues(shared),
    bucket === null ? [] : inspectBucket({ ...shared, bucket }),
  ]);
  return [credentials, ...others.flat()];
}

/**
 * Creates whatever is missing, for emulators and for a first try; in production the stack of deploy/aws does. Existing
 * resources are left unchanged, so that it can be run again. Reports what was created, and what could not be.
 */
export async function provisionAws(
  clients: AwsClients,
  { bucket, ...settings }: Provisioned,
  deps: ProvisioningDeps,
): Promise<{ readonly made: readonly string[]; readonly problems: readonly Finding[] }> {
  const shared = { ...clients, ...settings, ...deps };
  const ends = await Promise.allSettled([
    provisionTable(shared),
    provisionQueues(shared),
    bucket === null ? [] : provisionBucket({ ...shared, bucket }),
  ]);
  return {
    made: ends.flatMap((end) => (end.status === 'fulfilled' ? end.value : [])),
    problems: ends.flatMap((end) => (end.status === 'rejected' ? [refusal('Creating', end.reason)] : [])),
  };
}

/** Only another service could say whose they are; the answers of the others show whether they are valid. */
export async function inspectCredentials({ dynamo }: AwsClients): Promise<Finding> {
  const name = 'AWS';
  try {
    const region = await dynamo.config.region();
    await dynamo.config.credentials();
    return { name, result: 'ok', message: `credentials found for the region ${region}` };
  } catch (error) {
    const advice = 'set AWS_REGION, and AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run with a role';
    return { ...refusal(name, error), advice };
  }
}
