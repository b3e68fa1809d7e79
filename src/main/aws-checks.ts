import { type AwsClients, openAwsClients } from '../adapters/aws/clients.ts';
import { inspectBucket, provisionBucket } from '../adapters/aws/provision/bucket.ts';
import { refusal } from '../adapters/aws/provision/finding.ts';
import { inspectAws, inspectCredentials, type ProvisioningDeps, provisionAws } from '../adapters/aws/provisioning.ts';
import { systemClock } from '../adapters/system/clock.ts';
import { type AwsBackendConfig, ConfigError } from '../config.ts';
import { type Check, type InspectOptions, ok } from './check.ts';

/** A service that has not answered by then cannot be reached. */
const PATIENCE_MS = 15_000;

/** Checks table and queues; with `create`, creates what is missing first. */
export function checkAws(aws: AwsBackendConfig, options: InspectOptions): Promise<readonly Check[]> {
  // The bucket belongs to the results, which may be elsewhere.
  const settings = { ...aws, bucket: null };
  return checkWithin(options, async (clients, deps) => {
    const { made, problems } = options.create ? await provisionAws(clients, settings, deps) : NOTHING_MADE;
    return [...made.map(created), ...problems, ...(await inspectAws(clients, settings, deps))];
  });
}

/** Checks the bucket of the results; with `create`, creates it first if it is missing. */
export function checkBucket(bucket: string, options: InspectOptions): Promise<readonly Check[]> {
  return checkWithin(options, async (clients, deps) => {
    const parts = { ...clients, ...deps, bucket };
    const { made, problems } = options.create
      ? await provisionBucket(parts).then(
          (names) => ({ made: names, problems: [] }),
          (error: unknown) => ({ made: [], problems: [refusal('Creating', error)] }),
        )
      : NOTHING_MADE;
    const credentials = await inspectCredentials(clients);
    const found = credentials.result === 'problem' ? [] : await inspectBucket(parts);
    return [...made.map(created), ...problems, credentials, ...found];
  });
}

const NOTHING_MADE = { made: [], problems: [] };

function created(message: string): Check {
  return ok('Created', message);
}

async function checkWithin(
  { create, offline }: InspectOptions,
  look: (clients: AwsClients, deps: ProvisioningDeps) => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  if (create && offline) throw new ConfigError('--create needs the network: remove --offline');
  if (offline) return [];
  const clock = systemClock();
  const clients = openAwsClients();
  const late = new AbortController();
  const done = new AbortController();
  void clock.sleep(PATIENCE_MS * (create ? 8 : 1), done.signal).then(() => late.abort());
  try {
    return await look(clients, { clock, signal: late.signal });
  } finally {
    done.abort();
    clients.close();
  }
}
