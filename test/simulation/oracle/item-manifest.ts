import { isDeepStrictEqual } from 'node:util';
import { jobPrefix } from '../../../src/domain/artifact.ts';
import type { ResultStore } from '../../../src/ports/result-store.ts';
import { sha256 } from './manifest.ts';
import type { Snapshot } from './recount.ts';

/** Reads what each item of a job that is over has of its own. Says what is wrong, or null. */
export async function wrongItemManifest(store: ResultStore, { record, items }: Snapshot): Promise<string | null> {
  for (const { itemId, status, attempts, artifacts } of items) {
    const last = attempts.at(-1);
    if ((status !== 'success' && status !== 'failed') || last === undefined) continue;
    // There is nothing to find, and it was not requested.
    if (status === 'success' && artifacts.length === 0) continue;
    const key = `${jobPrefix(record.jobId, sha256)}manifests/items/${itemId}.json`;
    const body = await store.get(key);
    if (body === null) return `${key} is not there`;
    const told = JSON.parse(new TextDecoder().decode(body));
    // What a re-extraction read from the same page may replace the item's own data.
    const { data } = told.storage_keys;
    const isReplaced = record.replacedBy !== undefined && `${data}`.startsWith(`${record.replacedBy}/`);
    const own = Object.fromEntries(artifacts.map((artifact) => [artifact.kind, artifact.key]));
    const expected = {
      item_id: itemId,
      status: status === 'success' ? 'success' : 'error',
      storage_keys: isReplaced ? { ...own, data } : own,
      completed_at: new Date(last.startedAt + last.durationMs).toISOString(),
    };
    if (!isDeepStrictEqual(told, expected)) {
      return `${key} says ${JSON.stringify(told)}, and the item is ${JSON.stringify(expected)}`;
    }
  }
  return null;
}
