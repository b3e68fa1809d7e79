import { type ItemInput, type ItemRecord, isFinal } from '../../../domain/item.ts';
import type { NewJob } from '../../../domain/job.ts';
import { type Lane, laneWarning } from '../../../domain/lane.ts';
import { policySchema } from '../../../domain/policy.ts';
import type { Site } from '../../../domain/site.ts';
import { laneForSites } from '../../../domain/site-lane.ts';
import type { ItemBook, JobBook } from '../../../ports/ledger.ts';
import { SITE_PAGE } from '../bulk/submit-bulk.ts';
import { findScraper, type SubmitDeps } from '../submit.ts';

export interface ErrandDeps extends Pick<SubmitDeps, 'catalog' | 'clock' | 'prices'> {
  readonly ledger: Pick<JobBook, 'createJob' | 'changeJob'> & Pick<ItemBook, 'item'>;
  /** Lanes that have workers; null where that is not known. */
  readonly servedLanes: () => ReadonlySet<Lane> | null;
}

export interface ErrandWish {
  readonly site: Site;
  /** For people who list jobs meanwhile. */
  readonly name: string;
  readonly input: ItemInput;
  /** How long to wait for its end. */
  readonly waitMs: number;
  /** Whether it goes on after that. */
  readonly goesOn: boolean;
}

export type ErrandEnd<Result> =
  | { readonly kind: 'ended'; readonly result: Result }
  /** It was not over in time. */
  | { readonly kind: 'late'; readonly jobId: string }
  /** No worker could carry it out. */
  | { readonly kind: 'no-workers'; readonly message: string }
  | { readonly kind: 'unusable'; readonly message: string };

const ITEM = 'errand';
const FIRST_LOOK_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** A request waits for it: it is tried once more, and not for as long as a job would. */
const POLICY = policySchema.parse({
  retries: { max_retries: 1, max_backoff_seconds: 5 },
  robots: 'respect',
});

/**
 * Has a worker do one thing about a site, and waits for it: a job of one item, so that host limits, robots.txt, browsers and
 * the cache apply as they do to every page. What it leaves is removed at once, or by the engine if this process dies.
 * `read` is given the item before that. Rejects with the reason of `signal` when that aborts.
 */
export async function runErrand<Result>(
  deps: ErrandDeps,
  wish: ErrandWish,
  signal: AbortSignal,
  read: (item: ItemRecord) => Promise<Result>,
): Promise<ErrandEnd<Result>> {
  const { ledger, clock, prices } = deps;
  const found = await findScraper(deps, SITE_PAGE);
  if (!('scraper' in found)) return { kind: 'unusable', message: found.problem };
  const { id, version } = found.scraper;
  const served = deps.servedLanes();
  const lane = laneForSites([wish.site], served);
  const message = laneWarning(lane, served);
  if (message !== null) return { kind: 'no-workers', message };
  const job: NewJob = {
    ...{ jobId: `errand-${clock.id()}`, name: wish.name, scraperId: id, scraperVersion: version, lane },
    ...{ policy: POLICY, labels: { errand: wish.site.id }, held: false, errand: true },
    ...(Object.keys(prices).length === 0 ? {} : { prices }),
  };
  const answer = await ledger.createJob(job, [{ itemId: ITEM, input: wish.input }], clock.now());
  if (answer.kind !== 'created') throw new Error(`an errand could not be created: ${answer.kind}`);
  const { jobId, incarnation } = answer.job;
  let mayGoOn = false;
  try {
    const item = await untilFinal(deps, jobId, wish.waitMs, signal);
    if (item !== null) return { kind: 'ended', result: await read(item) };
    mayGoOn = wish.goesOn;
    return { kind: 'late', jobId };
  } finally {
    if (!mayGoOn) await endErrand(deps, jobId, incarnation);
  }
}

/** Null if its time was over before. */
async function untilFinal(
  { ledger, clock }: Pick<ErrandDeps, 'ledger' | 'clock'>,
  jobId: string,
  waitMs: number,
  signal: AbortSignal,
): Promise<ItemRecord | null> {
  const until = clock.elapsed() + waitMs;
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(1.5 * pauseMs, LONGEST_PAUSE_MS)) {
    await clock.sleep(pauseMs, signal);
    signal.throwIfAborted();
    const item = await ledger.item(jobId, ITEM);
    if (item === null) throw new Error(`the errand ${jobId} was removed before its end`);
    if (isFinal(item.status)) return item;
    if (clock.elapsed() >= until) return null;
  }
}

/** What cannot be removed yet is removed by the engine, because it was cancelled. */
async function endErrand(
  { ledger, clock }: Pick<ErrandDeps, 'ledger' | 'clock'>,
  jobId: string,
  incarnation: string,
): Promise<void> {
  await ledger.changeJob(jobId, { kind: 'cancel' }, clock.now());
  await ledger.changeJob(jobId, { kind: 'remove', incarnation }, clock.now());
}
