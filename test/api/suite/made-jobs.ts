import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import type { FailureType } from '../../../src/domain/failure.ts';
import { Client, noopItems, type Start, uniqueId } from './client.ts';

/** The scrapers of the cases. */
export const SCRAPERS: readonly string[] = [fileURLToPath(new URL('../scrapers', import.meta.url))];

/** The service that the cases of a file share, with workers. */
export async function openClient(start: Start): Promise<Client> {
  return Client.of(await start({ scrapers: SCRAPERS }));
}

/** A service without workers: items go out and stay out. */
export async function openStillClient(start: Start): Promise<Client> {
  return Client.of(await start({ workers: 0 }));
}

/** This policy has no second try, and no breaker that ends the job before its items. */
export const PATIENT = {
  retries: { max_retries: 0 },
  circuit_breaker: { min_requests: 1_000_000, consecutive_failures: 1_000_000 },
} as const;

/** A job of which some items failed, by type, and others did not. */
export async function completedWithFailures(
  client: Client,
  { good, ...failing }: { readonly good: number } & Partial<Record<FailureType, number>>,
): Promise<string> {
  const job_id = uniqueId('mixed');
  const failed = Object.entries(failing).flatMap(([type, count]) =>
    Array.from({ length: count ?? 0 }, (_, n) => ({ item_id: `${type}-${n}`, input: { type } })),
  );
  const items = [...noopItems(good).map(({ item_id }) => ({ item_id, input: { data: { name: item_id } } })), ...failed];
  const { status } = await client.run({ job_id, scraper_id: 'test-mixed', items, execution_policy: PATIENT });
  assert.equal(status, 'completed');
  return job_id;
}

/** A job that the breaker ended: two items failed, the others were never tried. */
export async function tripped(client: Client): Promise<string> {
  const job_id = uniqueId('tripped');
  const items = Array.from({ length: 6 }, (_, n) => ({ item_id: `i-${n}`, input: {} }));
  const circuit_breaker = { min_requests: 2, failure_threshold_percentage: 1 };
  const execution_policy = { retries: { max_retries: 0 }, circuit_breaker };
  const { status } = await client.run({ job_id, scraper_id: 'example-fail', items, execution_policy });
  assert.equal(status, 'failed');
  return job_id;
}
