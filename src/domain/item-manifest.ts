import { artifactLabel, type Digest, hashedSegment, isSafeKey, itemSegment } from './artifact.ts';
import type { ItemRecord } from './item.ts';
import { type ContentEncoding, parseAddress, sliceFields } from './result-address.ts';

/** `manifests/items/{item_id}.json`: how one item ended and where its files are, for readers who cannot wait for the job. */
interface ItemManifest {
  readonly item_id: string;
  readonly status: 'success' | 'error';
  /** By kind: html, data …; a page with a name is `page:taxes`. */
  readonly storage_keys: Readonly<Record<string, string>>;
  /** Present only if some of the files are slices of the object under their key. */
  readonly storage_slices?: Readonly<Record<string, StorageSlice>>;
  readonly completed_at: string;
}

interface StorageSlice {
  readonly offset?: number;
  readonly length?: number;
  readonly encoding: ContentEncoding;
}

/** The attempt it describes, and its text: the same for the same record. Null for an item that has not ended. */
export function itemManifest(item: ItemRecord): { readonly attempt: number; readonly text: string } | null {
  const last = item.attempts.at(-1);
  if (last === undefined || (item.status !== 'success' && item.status !== 'failed')) return null;
  const slices = item.artifacts.filter((artifact) => parseAddress(artifact).slice !== null);
  const manifest: ItemManifest = {
    item_id: item.itemId,
    status: item.status === 'success' ? 'success' : 'error',
    storage_keys: Object.fromEntries(item.artifacts.map((artifact) => [artifactLabel(artifact), artifact.key])),
    ...(slices.length === 0
      ? {}
      : {
          storage_slices: Object.fromEntries(
            slices.map((artifact) => [
              artifactLabel(artifact),
              { ...sliceFields(artifact), encoding: artifact.encoding },
            ]),
          ),
        }),
    completed_at: new Date(last.startedAt + last.durationMs).toISOString(),
  };
  return { attempt: last.attempt, text: `${JSON.stringify(manifest)}\n` };
}

/**
 * Names to try, in order. The first is the one that users expect; on a disk that folds case it may belong to another
 * item. The second is unique to this item, whatever the disk.
 */
export function itemManifestNames(itemId: string, digest: Digest): readonly [string, string] {
  const folder = 'manifests/items/';
  const apart = `${folder}${hashedSegment(itemId, digest)}.json`;
  const plain = `${folder}${itemSegment(itemId, digest)}.json`;
  // An id may be as long as a file name; with the suffix it would be too long.
  return [isSafeKey(plain) ? plain : apart, apart];
}

/**
 * Whether a manifest belongs to this item, so that it may be replaced. One that cannot be read may always be replaced.
 */
export function isManifestOf(text: string, itemId: string): boolean {
  try {
    const manifest: unknown = JSON.parse(text);
    if (typeof manifest !== 'object' || manifest === null || !('item_id' in manifest)) return true;
    return manifest.item_id === itemId;
  } catch {
    return true;
  }
}
