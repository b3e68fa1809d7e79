import { artifactLabel, type StoredArtifact } from '../../domain/artifact.ts';
import type { ItemRecord } from '../../domain/item.ts';
import { isSameAddress } from '../../domain/result-address.ts';

/**
 * Whether an item of a re-extraction was read from the pages that the older job's item has now. A failed one may have
 * been fetched again since, and then its own data are newer.
 */
export function readsPageOf({ source }: ItemRecord, { artifacts }: ItemRecord): boolean {
  if (source === undefined) return false;
  const { html, pages = [] } = source;
  const read = html.kind === 'page' ? pages : [html, ...pages];
  const kept = artifacts.filter(({ kind }) => kind === 'html' || kind === 'page');
  return read.length === kept.length && read.every((page) => kept.some((each) => isSame(page, each)));
}

function isSame(one: StoredArtifact, other: StoredArtifact): boolean {
  return artifactLabel(one) === artifactLabel(other) && isSameAddress(one, other) && one.sha256 === other.sha256;
}
