import type { ExportDeps } from '../../src/controller/results/export/export-job.ts';
import { type ExportOptions, exportJob } from '../../src/controller/results/export/export-job.ts';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import type { ItemRecord } from '../../src/domain/item.ts';
import { parseAddress } from '../../src/domain/result-address.ts';
import { digest } from '../../src/main/digest.ts';
import { itemOf } from '../domain/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** Imaginary jobs to export: items by their position, and files by their key. */

export function dataAt(key: string, size = 1): StoredArtifact {
  return { kind: 'data', key, size, sha256: '', encoding: 'identity', contentType: 'application/json' };
}

/** An item whose data is this. */
export interface Scraped extends Partial<ItemRecord> {
  /** The content of its file. */
  readonly json?: string;
}

/** A job of these items, in pages as a ledger gives them. Counts the pages and files that were asked for. */
export function jobOfItems(count: number, at: (place: number) => Scraped) {
  const asked = { pages: 0, files: 0 };
  const parts: ExportDeps = {
    clock: new FakeClock(),
    isStillThere: async () => true,
    digest,
    pathOf: ({ key }) => key,
    ledger: {
      async items(_jobId, { status }, { after, limit }) {
        asked.pages += 1;
        const from = after === null ? 0 : Number(after);
        const to = Math.min(count, from + limit);
        const entries: ItemRecord[] = [];
        for (let place = from; place < to; place += 1) {
          const { json, ...changes } = at(place);
          const artifacts = json === undefined ? [] : [dataAt(String(place), json.length)];
          const item = itemOf({ seq: place, itemId: `p-${place}`, artifacts, ...changes });
          if (status === null || item.status === status) entries.push(item);
        }
        return { entries, next: to < count ? String(to) : null };
      },
    },
    store: {
      async get(address) {
        asked.files += 1;
        const { json } = at(Number(parseAddress(address).key));
        return json === undefined ? null : Buffer.from(json);
      },
      open: async () => null,
    },
  };
  return { parts, asked };
}

export function jobOfList(items: readonly Scraped[]) {
  return jobOfItems(items.length, (place) => items[place] ?? {});
}

export const AS_USUAL: ExportOptions = { format: 'jsonl', filter: 'all', scraper: null, explode: null, hasBom: false };

export async function bytesOf(parts: ExportDeps, options: Partial<ExportOptions> = {}): Promise<Buffer> {
  const { body } = exportJob(parts, { jobId: 'job-1' }, { ...AS_USUAL, ...options });
  return Buffer.concat(await Array.fromAsync(body));
}
