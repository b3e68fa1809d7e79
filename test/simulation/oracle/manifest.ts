import { hash } from 'node:crypto';
import { jobPrefix } from '../../../src/domain/artifact.ts';
import type { ItemRecord } from '../../../src/domain/item.ts';
import type { ResultStore } from '../../../src/ports/result-store.ts';
import type { Snapshot } from './recount.ts';

export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text);
}

interface Metadata {
  readonly job_id: string;
  readonly round: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly parts: Readonly<Record<string, number>>;
  readonly part_hashes: readonly { readonly list: string; readonly part: number; readonly sha256: string }[];
}

interface Entry {
  readonly item_id: string;
  readonly status: string;
  readonly error: { readonly type: string } | null;
  readonly artifacts: readonly Listed[];
}

interface Listed {
  readonly kind: string;
  readonly key: string;
  readonly sha256: string;
}

/** Reads the index of a job as a user would, and compares it with the items. Says what is wrong, or null. */
export async function wrongManifest(store: ResultStore, { record, items }: Snapshot): Promise<string | null> {
  if (record.manifest === null) return 'there is none';
  const prefix = jobPrefix(record.jobId, sha256);
  const text = await textOf(store, `${prefix}job_metadata.json`);
  if (text === null) return 'job_metadata.json is not there';
  if (sha256(text) !== record.manifest.metadataSha256) return 'job_metadata.json is not the one that was recorded';
  const metadata: Metadata = JSON.parse(text);
  if (metadata.round !== record.round)
    return `it is of round ${metadata.round}, and the job is in round ${record.round}`;
  const lists: Record<string, readonly ItemRecord[]> = {
    full: items,
    success: items.filter(({ status }) => status === 'success'),
    errors: items.filter(({ status }) => status === 'failed'),
  };
  for (const status of ['success', 'failed', 'skipped', 'cancelled'] as const) {
    const there = items.filter((item) => item.status === status).length;
    if (metadata.counts[status] !== there)
      return `it counts ${metadata.counts[status]} ${status}, and there are ${there}`;
  }
  for (const [list, wanted] of Object.entries(lists)) {
    const wrong = await wrongList(store, prefix, metadata, list, wanted, record.replacedBy ?? null);
    if (wrong !== null) return `${list}: ${wrong}`;
  }
  return null;
}

async function wrongList(
  store: ResultStore,
  prefix: string,
  metadata: Metadata,
  list: string,
  wanted: readonly ItemRecord[],
  replacedBy: string | null,
): Promise<string | null> {
  const entries: Entry[] = [];
  for (let part = 0; part < (metadata.parts[list] ?? 0); part += 1) {
    const text = await textOf(store, `${prefix}manifests/${list}/part-${part}.json`);
    if (text === null) return `part ${part} is not there`;
    const known = metadata.part_hashes.find((entry) => entry.list === list && entry.part === part);
    if (known?.sha256 !== sha256(text)) return `part ${part} has another hash`;
    const parsed: { items: Entry[] } = JSON.parse(text);
    entries.push(...parsed.items);
  }
  if (entries.length !== wanted.length) return `${entries.length} entries, and ${wanted.length} items`;
  for (const [index, item] of wanted.entries()) {
    const entry = entries[index];
    if (entry === undefined || show(entry, item, replacedBy) !== showItem(item))
      return `item ${item.itemId} stands there as ${entry && show(entry, item, replacedBy)}`;
  }
  return null;
}

/** Data of the re-extraction in place replace the item's own. */
function show({ item_id, status, error, artifacts }: Entry, item: ItemRecord, replacedBy: string | null): string {
  const own = item.artifacts.filter(({ kind }) => kind === 'data');
  const isNewer = ({ kind, key }: Listed) => kind === 'data' && replacedBy !== null && key.startsWith(`${replacedBy}/`);
  const shown = artifacts.some(isNewer) ? [...artifacts.filter((each) => !isNewer(each)), ...own] : artifacts;
  return `${item_id} ${status} ${error?.type} ${showArtifacts(shown)}`;
}

function showArtifacts(artifacts: readonly Listed[]): string {
  const texts = artifacts.map(({ kind, key, sha256: hex }) => `${kind} ${key} ${hex}`);
  return texts.sort().join();
}

function showItem({ itemId, status, attempts, artifacts }: ItemRecord): string {
  const failed = status === 'failed' ? attempts.at(-1)?.failure?.type : undefined;
  return `${itemId} ${status} ${failed} ${showArtifacts(artifacts)}`;
}

async function textOf(store: ResultStore, key: string): Promise<string | null> {
  const body = await store.get(key);
  return body === null ? null : new TextDecoder().decode(body);
}
