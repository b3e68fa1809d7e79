import type { Digest, StoredArtifact } from '../domain/artifact.ts';
import { listFailedTries, type SeenTry } from '../domain/failed-try.ts';
import { type FailureType, failure } from '../domain/failure.ts';
import { MAX_VERSION_LENGTH, type SourcePage } from '../domain/item.ts';
import type { HeldBack } from '../domain/job-wait.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { SeenStep } from '../domain/recording/step-statistics.ts';
import type { WorkOrder } from '../domain/work-order.ts';
import type { Clock } from '../ports/clock.ts';
import type { Faults } from '../ports/faults.ts';
import type { HostGate } from '../ports/host-gate.ts';
import type { LeasedItem, Settlement } from '../ports/ledger.ts';
import type { Draft, ResultStore } from '../ports/result-store.ts';
import { BatchScope } from '../scraping/batch-scope.ts';
import type { ScrapeResult, Scraper, ScrapeTools } from '../scraping/scraper.ts';
import { UsageMeter } from '../scraping/usage-meter.ts';
import type { Deadlines } from './deadlines.ts';
import { extractStored } from './extract-stored.ts';
import type { AttemptEvidence, FailureEvidence } from './failure-evidence.ts';
import { type AttemptFacts, withMetadata } from './item-metadata.ts';
import { ItemTime } from './item-time.ts';
import type { JobLadders } from './job-ladders.ts';
import { keepArtifacts } from './keep-artifacts.ts';
import { maskResult, maskSteps, maskTry } from './mask-result.ts';
import { readFound, withFacts, withFound } from './read-found.ts';
import { discardAll, elapsedSince, itemTimeMs, type RepeatedTry, type Tried, tryUntilDecided } from './tries.ts';
import { untilDeadline } from './until-deadline.ts';

/**
 * One attempt at an item: try, and retry as the policy says, until there is an outcome or the item's time is over; then
 * store the bytes. The result is ready to be settled. `aborted` means that the attempt was taken from us (the worker is
 * stopping, or the lease is lost), which is not a failure. If a host must not be visited for so long that the item goes
 * back, that is not a failure either, and neither is StorageTrouble, which passes through. What was sent and received
 * is in `meter`, however it ends.
 */
export async function runAttempt(
  deps: AttemptDeps,
  job: AttemptJob,
  item: LeasedItem,
  signal: AbortSignal,
  meter = new UsageMeter(),
): Promise<Settlement | HeldBack | 'aborted'> {
  const { clock, faults } = deps;
  const startedAt = clock.now();
  const begunAt = clock.elapsed();
  const drafts: Draft[] = [];
  const evidence = evidenceFor(deps, job, item);
  try {
    const { result, tries, failed } = await carryOut(deps, job, item, { drafts, evidence, meter }, signal);
    if (result === 'aborted') return 'aborted';
    if (result.kind === 'held') return result.held;
    const stop = faults.at('after-work-before-bytes');
    if (stop !== undefined) await stop;
    const { secrets } = deps.tools;
    const endedAt = clock.now();
    const seen =
      evidence === null || result.kind !== 'failed'
        ? result
        : await evidence.addTo(result, failed.at(-1)?.failure.type ?? result.failure.type, endedAt);
    if (result.steps !== undefined) deps.onSteps(job.jobId, maskSteps(result.steps, secrets), endedAt);
    const finds = readFound(result, job.scraper, item, deps);
    const masked = maskResult(
      describeResult(job, item, withFacts(seen, finds), { tries, startedAt, endedAt }),
      secrets,
    );
    const outcome = withFound(await keepBytes(deps, job.jobId, item, masked), finds);
    evidence?.kept();
    const durationMs = elapsedSince(begunAt, clock);
    const settlement = { seq: item.seq, attempt: item.attempt, outcome, tries, startedAt, durationMs };
    // Most items have neither failed tries nor, in the examples, requests: copying nothing adds up at this rate.
    const more =
      failed.length === 0
        ? NOTHING
        : listFailedTries(
            failed.map((each) => maskTry(each, secrets)),
            tries,
          );
    return Object.assign(settlement, more, versionOf(job), usageOf(meter));
  } finally {
    evidence?.close();
    if (drafts.length > 0) await discardAll(drafts);
  }
}

/** Null if there is nothing to see: the item is read from the store, or its scraper never requests a page. */
function evidenceFor({ evidence, tools }: AttemptDeps, job: AttemptJob, item: LeasedItem): AttemptEvidence | null {
  const { scraper } = job;
  if ('unusable' in scraper || scraper.kind === 'plain' || item.source !== undefined) return null;
  return evidence.begin(job, item, tools);
}

export interface AttemptJob {
  readonly jobId: string;
  readonly order: WorkOrder;
  /** Or why it cannot be used: then every item reports that, instead of crashing its worker. */
  readonly scraper: Scraper | { readonly unusable: string };
  /** The gate as lent to the batch of the item; that of the tools if there are no batches. */
  readonly gate?: () => HostGate;
  /** Scope of the lease; without one, the item has its own. */
  readonly batch?: BatchScope;
}

/** Cut, because a settlement refused for a too long version would be refused every time. */
function versionOf({ scraper }: AttemptJob): Pick<Settlement, 'scraperVersion'> {
  return 'unusable' in scraper ? {} : { scraperVersion: scraper.version.slice(0, MAX_VERSION_LENGTH) };
}

export function usageOf(meter: UsageMeter): Pick<Settlement, 'usage'> {
  const usage = meter.read();
  return usage.length === 0 ? {} : { usage };
}

/** A re-extraction adds data to an item whose metadata its own job has. */
function describeResult(
  { jobId, scraper }: AttemptJob,
  { itemId, input, attempt, source }: LeasedItem,
  result: ScrapeResult,
  times: Pick<AttemptFacts, 'tries' | 'startedAt' | 'endedAt'>,
): ScrapeResult {
  if (source !== undefined || 'unusable' in scraper || !scraper.metadata) return result;
  return withMetadata(result, { jobId, itemId, scraper, input, attempt, ...times });
}

/** A job whose scraper can be run. */
type ReadyJob = Omit<AttemptJob, 'scraper'> & { readonly scraper: Scraper };

export interface AttemptDeps {
  readonly clock: Clock;
  readonly store: ResultStore;
  readonly faults: Faults;
  readonly digest: Digest;
  /** What scrapers need for their work; the engine itself uses none of it. */
  readonly tools: ScrapeTools;
  /** An item of this job begins to wait for another try. */
  readonly onWait: (jobId: string, type: FailureType, waitMs: number) => void;
  /** What was seen of the steps of a recording, once per attempt. */
  readonly onSteps: (jobId: string, seen: readonly SeenStep[], now: number) => void;
  readonly ladders: JobLadders;
  readonly evidence: FailureEvidence;
  readonly deadlines: Deadlines;
}

const NONE: readonly SeenTry[] = [];
const NOTHING = {};

/** What belongs to one attempt alone. */
interface Own {
  readonly drafts: Draft[];
  readonly evidence: AttemptEvidence | null;
  readonly meter: UsageMeter;
}

async function carryOut(
  deps: AttemptDeps,
  { jobId, order, scraper, gate, batch = new BatchScope() }: AttemptJob,
  item: LeasedItem,
  { drafts, evidence, meter }: Own,
  signal: AbortSignal,
): Promise<Tried> {
  if ('unusable' in scraper) {
    return { result: { kind: 'failed', failure: failure('unexpected', scraper.unusable) }, tries: 0, failed: NONE };
  }
  const job = { jobId, order, scraper };
  if (item.source !== undefined) return extractOnce(deps, job, item, item.source, signal);
  const onFailedTry = ({ tries, failure: { type, message }, delayMs }: RepeatedTry) => {
    evidence?.nextTry(type);
    deps.onWait(jobId, type, delayMs);
    deps.tools.log.debug(
      { job_id: jobId, item_id: item.itemId, try: tries, error_type: type, error: message, retry_in_ms: delayMs },
      'try failed',
    );
  };
  const { clock, deadlines, store, ladders } = deps;
  const tools = evidence?.tools ?? deps.tools;
  const lent = { clock, deadlines, store, ladders, tools, meter, batch, onFailedTry, ...(gate && { gate }) };
  return tryUntilDecided(lent, job, item, drafts, signal);
}

/** Tries only once: the same code would give the same result for the same page. */
async function extractOnce(
  { clock, deadlines, store }: AttemptDeps,
  { order, scraper }: ReadyJob,
  item: LeasedItem,
  source: SourcePage,
  signal: AbortSignal,
): Promise<Tried> {
  const work = () => extractStored(store, scraper, item, source);
  const result = await untilDeadline(deadlines, work, new ItemTime(clock, itemTimeMs(order.policy)), signal);
  return { result, tries: 1, failed: NONE };
}

async function keepBytes(deps: AttemptDeps, jobId: string, item: LeasedItem, result: ScrapeResult): Promise<Outcome> {
  const { artifacts: produced = [] } = result;
  if (produced.length === 0) return outcomeOf(result, []);
  const at = { jobId, itemId: item.itemId, attempt: item.attempt };
  return outcomeOf(result, await keepArtifacts(deps, at, produced));
}

function outcomeOf(result: ScrapeResult, artifacts: readonly StoredArtifact[]): Outcome {
  const kept = artifacts.length === 0 ? {} : { artifacts };
  switch (result.kind) {
    case 'scraped':
      return { kind: 'scraped', artifacts };
    case 'skipped':
      return { kind: 'skipped', reason: result.reason, ...kept };
    case 'failed':
      return { kind: 'failed', failure: result.failure, ...kept };
  }
}
