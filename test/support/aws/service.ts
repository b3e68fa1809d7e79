import { after } from 'node:test';
import { provisionAws } from '../../../src/adapters/aws/provisioning.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import type { Config } from '../../../src/config.ts';
import { type Service, startService } from '../../api/service.ts';
import { type Emulators, startEmulators } from './emulators.ts';
import { awsEnvironment, awsNames } from './names.ts';

/**
 * Progress is reported twelve times per lease, and the cases wait for it. Shorter leases run out on a busy machine, and
 * then items are tried twice.
 */
const LEASE_MS = 6000;

let emulators: Promise<Emulators> | null = null;
const services: Service[] = [];

/**
 * The whole service on AWS: with a table, queues and a bucket of its own, on emulators that all services of a test file
 * share. They stop when the file is done, after the last service.
 */
export async function startAwsService(
  overrides: Partial<Config> & { readonly workers?: number } = {},
): Promise<Service> {
  emulators ??= startForFile();
  const running = await emulators;
  const names = awsNames(running, `service-${services.length}-${process.pid}`);
  const clients = running.clients();
  const parts = { clock: systemClock(), signal: new AbortController().signal };
  const { problems } = await provisionAws(clients, names, parts).finally(() => clients.close());
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  const service = await startService({ backend: { kind: 'aws', ...names }, leaseMs: LEASE_MS, ...overrides });
  services.push(service);
  return service;
}

async function startForFile(): Promise<Emulators> {
  const running = await startEmulators();
  Object.assign(process.env, awsEnvironment(running));
  after(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await running.stop();
  });
  return running;
}
