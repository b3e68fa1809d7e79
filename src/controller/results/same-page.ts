import type { ItemRecord } from '../../domain/item.ts';
import { isSameAddress } from '../../domain/result-address.ts';

/**
 * Whether an item of a re-extraction was read from the page that the older job's item has now. One that failed may have
 * been fetched again since, and then its own data are newer than those of the page that was read.
 */
export function readsPageOf({ source }: ItemRecord, { artifacts }: ItemRecord): boolean {
  const html = artifacts.find(({ kind }) => kind === 'html');
  return (
    html !== undefined && source !== undefined && isSameAddress(source.html, html) && source.html.sha256 === html.sha256
  );
}
