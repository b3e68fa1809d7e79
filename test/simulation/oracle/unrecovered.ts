import type { Snapshot } from './recount.ts';
import { htmlOf } from './recoveries.ts';

/** At the end: an item that the re-extraction in place could read is not a failure any more. */
export function unrecovered({ record, items }: Snapshot, extraction: Snapshot | null): string | null {
  if (extraction === null || extraction.record.extracts !== record.jobId) return null;
  if (extraction.record.round !== (record.replacedRound ?? 1)) return null;
  const read = new Map(extraction.items.map((item) => [item.itemId, item]));
  for (const { itemId, status, artifacts } of items) {
    const newer = read.get(itemId);
    const page = htmlOf(artifacts);
    if (status !== 'failed' || newer?.status !== 'success' || page === undefined) continue;
    if (newer.source?.html.key === page.key) return `${itemId} is failed, and ${newer.jobId} could read its page`;
  }
  return null;
}
