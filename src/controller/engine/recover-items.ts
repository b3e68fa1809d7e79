import { type ItemRecord, otherVersion, type RecoveredItem } from '../../domain/item.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { ItemBook, JobBook } from '../../ports/ledger.ts';
import { itemsAlike } from '../results/items-alike.ts';
import { readsPageOf } from '../results/same-page.ts';

interface RecoverDeps {
  readonly ledger: JobBook & ItemBook;
  readonly clock: Clock;
  readonly faults: Faults;
  /** False once this process is stopping or no longer leads: another one continues. */
  readonly mayWork: () => boolean;
}

/** Number of failed items read together. */
const PAGE = 200;

/**
 * Turns failed items into successes if the current re-extraction could read their stored pages: a page of them at a
 * time, each by one guarded write, and finally the mark is removed. It may die anywhere and be repeated: items that
 * succeeded are no longer among the failed. Returns how many there were.
 */
export async function recoverItems(deps: RecoverDeps, job: JobRecord): Promise<number> {
  const { ledger, clock, faults, mayWork } = deps;
  const { jobId, replacedBy: by, replacedRound: ofRound } = job;
  const extraction = by === undefined ? null : await ledger.job(by);
  // Its deletion may still be called off, and then there is something to recover.
  if (extraction?.removing === 'asked') return 0;
  let recovered = 0;
  let after: string | null = null;
  while (by !== undefined && extraction !== null && extraction.extracts === jobId && !extraction.removing) {
    const page = await ledger.items(jobId, { status: 'failed', errorType: null }, { after, limit: PAGE });
    let left = await readable(ledger, extraction, job, page.entries);
    while (left.length > 0) {
      if (!mayWork()) return recovered;
      const answer = await ledger.recover(jobId, by, left, clock.now());
      // The job was deleted, or other data are in place by now: that replacement has set its own mark.
      if (!('kind' in answer) || answer.kind === 'missing') return recovered;
      recovered += answer.items;
      left = left.slice(answer.taken);
      await faults.at('between-recoveries');
    }
    if (page.next === null) break;
    after = page.next;
    await clock.turn();
  }
  if (by === undefined || !mayWork()) return recovered;
  const round = ofRound === undefined ? {} : { ofRound };
  await ledger.changeJob(jobId, { kind: 'recovered', by, ...round }, clock.now());
  return recovered;
}

async function readable(
  ledger: Pick<ItemBook, 'item' | 'itemsAt'>,
  extraction: JobRecord,
  job: JobRecord,
  failed: readonly ItemRecord[],
): Promise<readonly RecoveredItem[]> {
  const withPage = failed.filter(({ artifacts }) => artifacts.some(({ kind }) => kind === 'html' || kind === 'page'));
  const ids = withPage.map(({ itemId }) => itemId);
  const read = await itemsAlike(ledger, extraction.jobId, ids);
  return withPage.flatMap((item) => {
    const newer = read.get(item.itemId);
    return newer?.status === 'success' && readsPageOf(newer, item) ? recoveredItem(item, newer, extraction, job) : [];
  });
}

function recoveredItem(
  { seq, attempts, artifacts }: ItemRecord,
  newer: ItemRecord,
  extraction: JobRecord,
  job: JobRecord,
): readonly RecoveredItem[] {
  const [failed, reading] = [attempts.at(-1), newer.attempts.at(-1)];
  const data = newer.artifacts.filter(({ kind }) => kind === 'data');
  if (failed === undefined || reading === undefined || data.length === 0) return [];
  const { tries, startedAt, durationMs, scraperVersion = extraction.scraperVersion } = reading;
  const reader = extraction.scraperId === job.scraperId ? {} : { scraperId: extraction.scraperId };
  return [
    {
      seq,
      attempt: failed.attempt,
      artifacts: [...artifacts.filter(({ kind }) => kind !== 'data'), ...data],
      reading: { tries, startedAt, durationMs, ...otherVersion({ scraperVersion }, job), ...reader },
    },
  ];
}
