import { afterAttempt, isProxyFault } from '../domain/after-attempt.ts';
import type { Digest, StoredArtifact } from '../domain/artifact.ts';
import { listFailedTries, type SeenTry } from '../domain/failed-try.ts';
import { type Failure, type FailureType, failure } from '../domain/failure.ts';
import { type HostStanding, isHeldByHost, isOfTheHost } from '../domain/held-back.ts';
import { MAX_VERSION_LENGTH, type SourcePage } from '../domain/item.ts';
import type { HeldBack } from '../domain/job-wait.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { WorkOrder } from '../domain/work-order.ts';
import type { Clock } from '../ports/clock.ts';
import type { Faults } from '../ports/faults.ts';
import type { RetryAnswer } from '../ports/host-gate.ts';
import type { LeasedItem, Settlement } from '../ports/ledger.ts';
import type { Draft, ResultStore } from '../ports/result-store.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import { checkedResult } from '../scraping/checked-result.ts';
import type { ScrapeContext, ScrapeResult, Scraper, ScrapeTools } from '../scraping/scraper.ts';
import { thrownFailure } from '../scraping/thrown-failure.ts';
import { UsageMeter } from '../scraping/usage-meter.ts';
import { AttemptGate } from './attempt-gate.ts';
import { extractStored } from './extract-stored.ts';
import { FailedResults } from './failed-results.ts';
import type { AttemptEvidence, FailureEvidence } from './failure-evidence.ts';
import { type AttemptFacts, withMetadata } from './item-metadata.ts';
import type { JobLadders } from './job-ladders.ts';
import { keepArtifacts } from './keep-artifacts.ts';
import { maskResult, maskTry } from './mask-result.ts';

/**
 * One attempt at an item: try, and try again as the policy says, until there is an outcome or the item's time is over;
 * then store the bytes. The result is ready to be settled. `aborted` means that the attempt was taken from us (the worker
 * is stopping, or the lease is lost), which is not a failure. A host that must not be visited for so long that the item
 * goes back is not its fault either, and neither is StorageTrouble, which passes through. What was sent and received is in
 * `meter`, whatever the end.
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
    await faults.at('after-work-before-bytes');
    const { secrets } = deps.tools;
    const endedAt = clock.now();
    const seen =
      evidence === null || result.kind !== 'failed'
        ? result
        : await evidence.addTo(result, failed.at(-1)?.failure.type ?? result.failure.type, endedAt);
    const told = maskResult(toldOf(job, item, seen, { tries, startedAt, endedAt }), secrets);
    const masked = failed.map((each) => maskTry(each, secrets));
    const outcome = await keepBytes(deps, job.jobId, item, told);
    evidence?.kept();
    const durationMs = elapsedSince(begunAt, clock);
    return {
      ...{ seq: item.seq, attempt: item.attempt, outcome, tries, startedAt, durationMs },
      ...listFailedTries(masked, tries),
      ...versionOf(job),
      ...usageOf(meter),
    };
  } finally {
    evidence?.close();
    if (drafts.length > 0) await discardAll(drafts);
  }
}

/** Null if there is nothing to see: the item is read from the store, or its scraper never asks for a page. */
function evidenceFor({ evidence, tools }: AttemptDeps, job: AttemptJob, item: LeasedItem): AttemptEvidence | null {
  const { scraper } = job;
  if ('unusable' in scraper || scraper.kind === 'plain' || item.source !== undefined) return null;
  return evidence.begin(job, item, tools);
}

export interface AttemptJob {
  readonly jobId: string;
  readonly order: WorkOrder;
  /** Or why it cannot be used: then every item reports that, instead of taking its worker down. */
  readonly scraper: Scraper | { readonly unusable: string };
}

/** Cut, because a settlement that is refused for a version of any length would be refused every time. */
function versionOf({ scraper }: AttemptJob): Pick<Settlement, 'scraperVersion'> {
  return 'unusable' in scraper ? {} : { scraperVersion: scraper.version.slice(0, MAX_VERSION_LENGTH) };
}

export function usageOf(meter: UsageMeter): Pick<Settlement, 'usage'> {
  const usage = meter.read();
  return usage.length === 0 ? {} : { usage };
}

/** A re-extraction adds data to an item whose metadata its own job has. */
function toldOf(
  { jobId, scraper }: AttemptJob,
  { itemId, input, attempt, source }: LeasedItem,
  result: ScrapeResult,
  times: Pick<AttemptFacts, 'tries' | 'startedAt' | 'endedAt'>,
): ScrapeResult {
  if (source !== undefined || 'unusable' in scraper || !scraper.metadata) return result;
  return withMetadata(result, { jobId, itemId, scraper, input, attempt, ...times });
}

/** One whose scraper can be run. */
type ReadyJob = Omit<AttemptJob, 'scraper'> & { readonly scraper: Scraper };

export interface AttemptDeps {
  readonly clock: Clock;
  readonly store: ResultStore;
  readonly faults: Faults;
  readonly digest: Digest;
  /** What scrapers need to do their work; the engine itself uses none of it. */
  readonly tools: ScrapeTools;
  /** An item of this job begins to wait for another try. */
  readonly onWait: (jobId: string, type: FailureType, waitMs: number) => void;
  readonly ladders: JobLadders;
  readonly evidence: FailureEvidence;
}

/** The item goes back because of its host; and what the last try came to. */
interface HeldItem {
  readonly kind: 'held';
  readonly held: HeldBack;
  readonly last: ScrapeResult;
}

interface Tried {
  readonly result: ScrapeResult | HeldItem | 'aborted';
  readonly tries: number;
  readonly failed: readonly SeenTry[];
}

const NONE: readonly SeenTry[] = [];

/** What belongs to one attempt alone. */
interface Own {
  readonly drafts: Draft[];
  readonly evidence: AttemptEvidence | null;
  readonly meter: UsageMeter;
}

async function carryOut(
  deps: AttemptDeps,
  { jobId, order, scraper }: AttemptJob,
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
  const tools = evidence?.tools ?? deps.tools;
  const { clock, store, ladders } = deps;
  return tryUntilDecided({ clock, store, ladders, tools, meter, onFailedTry }, job, item, drafts, signal);
}

/** Tries only once: the same code would give the same result for the same page. */
async function extractOnce(
  { clock, store }: AttemptDeps,
  { order, scraper }: ReadyJob,
  item: LeasedItem,
  source: SourcePage,
  signal: AbortSignal,
): Promise<Tried> {
  const itemTimeMs = itemTimeOf(order);
  const work = () => extractStored(store, scraper, item, source);
  const cut = new AbortController();
  const result = await untilDeadline(work, { remainingMs: itemTimeMs, itemTimeMs, clock }, cut, signal);
  return { result, tries: 1, failed: NONE };
}

/** A try that failed, and will be followed by another. */
export interface RepeatedTry {
  readonly tries: number;
  readonly failure: Failure;
  readonly delayMs: number;
}

interface TryDeps extends Pick<AttemptDeps, 'clock' | 'tools' | 'ladders'> {
  readonly store: Pick<ResultStore, 'draft'>;
  readonly onFailedTry: (failed: RepeatedTry) => void;
  readonly meter: UsageMeter;
}

/**
 * A failed result is that of the try which tells most about the item. The drafts that were opened, and not discarded since,
 * are in `drafts`.
 */
export async function tryUntilDecided(
  { clock, store, tools, ladders, onFailedTry, meter }: TryDeps,
  job: Pick<ReadyJob, 'jobId' | 'scraper'> & {
    readonly order: Pick<WorkOrder, 'policy' | 'policyRevision' | 'jobCreatedAt'>;
  },
  item: Pick<LeasedItem, 'itemId' | 'input'>,
  drafts: Draft[],
  signal: AbortSignal,
): Promise<Tried> {
  const { jobId, order, scraper } = job;
  const { policy } = order;
  const itemTimeMs = itemTimeOf(order);
  const begunAt = clock.elapsed();
  const failed = new FailedResults();
  const gate = new AttemptGate(tools.gate);
  const lent = { ...tools, gate };
  const climb = ladders.begin(job, tools.log);
  let identity = 0;
  let proxySession = 0;
  let proxyFaults = 0;
  for (let tries = 1; ; tries += 1) {
    const remainingMs = itemTimeMs - elapsedSince(begunAt, clock);
    const cut = new AbortController();
    const context: ScrapeContext = {
      jobId,
      itemId: item.itemId,
      input: item.input,
      policy,
      tryNumber: tries,
      identity,
      proxyType: climb.proxyType,
      proxySession,
      usage: meter,
      tools: lent,
      signal: cut.signal,
      now: () => clock.now(),
      sleep: (ms) => sleepUntilCut(clock, ms, cut.signal),
      isRetried: (failure) => {
        const so = { tries, proxyFaults, remainingMs: itemTimeMs - elapsedSince(begunAt, clock) };
        // By the longest wait: what a scraper leaves to another try must not be lost because there is none.
        return afterAttempt(so, failure, policy.retries, LONGEST_WAIT).kind === 'retry';
      },
      draft: () => {
        // A scraper that was abandoned would open one that is never discarded.
        if (cut.signal.aborted) throw new Error('the try is over: there is no room for another document');
        const draft = store.draft();
        drafts.push(draft);
        return draft;
      },
    };
    const work = () => scraper.scrape(context);
    const time = { remainingMs, itemTimeMs, clock };
    const result = await untilDeadline(work, time, cut, signal);
    if (result === 'aborted' || result.kind !== 'failed') {
      climb.ended(result);
      return { result, tries, failed: failed.tries };
    }

    const so = { tries, proxyFaults, remainingMs: itemTimeMs - elapsedSince(begunAt, clock) };
    const isHeld = isHeldByHost(result.failure, standingOf(gate), so.remainingMs);
    const decision = afterAttempt(so, result.failure, policy.retries, clock.chance());
    const retry = isHeld || decision.kind === 'give-up' ? 'go' : takeRetry(gate, result.failure);
    if (isHeld || retry === 'later') {
      climb.ended(result);
      return { result: heldBack(gate, result, isHeld, clock), tries, failed: failed.tries };
    }
    if (retry === 'never' || decision.kind === 'give-up') {
      climb.ended(result);
      return { result: failed.conclude(result, clock.now()), tries, failed: failed.tries };
    }
    await discardAll(drafts);
    // A site that refused us must not recognise us; when only the proxy failed, the site has nothing against us.
    if (decision.identity === 'new') identity += 1;
    if (decision.identity !== 'keep') proxySession += 1;
    if (isProxyFault(result.failure)) proxyFaults += 1;
    failed.add(result, clock.now(), decision.delayMs);
    climb.failed(result.failure);
    onFailedTry({ tries, failure: result.failure, delayMs: decision.delayMs });
    await clock.sleep(decision.delayMs, signal);
    if (signal.aborted) return { result: 'aborted', tries, failed: failed.tries };
  }
}

function standingOf(gate: AttemptGate): HostStanding | null {
  const pause = gate.pause();
  return pause === null ? null : { pauseMs: pause.ms, isAway: pause.isAway, wasAsked: gate.hadAnswer };
}

/** What is the item's own, or the proxy's, is not held against the host. */
function takeRetry(gate: AttemptGate, failure: Failure): RetryAnswer {
  if (gate.host === null || isProxyFault(failure)) return 'go';
  const answer = gate.takeRetry(gate.host);
  return answer === 'later' && !isOfTheHost(failure) ? 'never' : answer;
}

function heldBack(
  gate: AttemptGate,
  last: ScrapeResult & { kind: 'failed' },
  isPaused: boolean,
  clock: Clock,
): HeldItem {
  const host = gate.host ?? '';
  if (!isPaused) gate.hold(host, RETRY_LATER_MS, `too many requests failed: ${last.failure.message}`);
  const { ms, reason } = gate.pause() ?? { ms: RETRY_LATER_MS, reason: last.failure.message };
  return { kind: 'held', held: { host, until: Math.ceil(clock.now() + ms), reason }, last };
}

/** Until then other items of the job may have made room for retries. */
const RETRY_LATER_MS = 5000;

/** A chance that is as good as 1. */
const LONGEST_WAIT = 1 - Number.EPSILON;

/** The slot is free when the time is over by our clock, whether or not the scraper has noticed. Then `cut` is aborted. */
async function untilDeadline(
  work: () => Promise<unknown>,
  time: { remainingMs: number; itemTimeMs: number; clock: Clock },
  cut: AbortController,
  signal: AbortSignal,
): Promise<ScrapeResult | 'aborted'> {
  if (signal.aborted) {
    cut.abort(OVER);
    return 'aborted';
  }
  const { promise: taken, resolve: take } = Promise.withResolvers<'aborted'>();
  const onAbort = () => take('aborted');
  signal.addEventListener('abort', onAbort, { once: true });
  const late = time.clock.sleep(time.remainingMs, cut.signal).then((): ScrapeResult => {
    return { kind: 'failed', failure: failure('timeout', `item took longer than ${time.itemTimeMs / 1000} s`) };
  });
  try {
    return await Promise.race([workSafely(work), late, taken]);
  } finally {
    cut.abort(OVER);
    signal.removeEventListener('abort', onAbort);
  }
}

/** An abort without a reason makes an exception with a stack trace: a quarter of what an empty item costs. */
const OVER = 'the try is over';

async function workSafely(work: () => Promise<unknown>): Promise<ScrapeResult> {
  try {
    return checkedResult(await work());
  } catch (error) {
    if (error instanceof StorageTrouble) throw error;
    return { kind: 'failed', failure: thrownFailure(error) };
  }
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

/**
 * An abandoned scraper that waits in a loop would spin forever without letting others run: so the end of the try is an
 * error here, and it comes in the next turn of the event loop.
 */
async function sleepUntilCut(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  await clock.sleep(ms, signal);
  if (!signal.aborted) return;
  await clock.turn();
  throw new Error(OVER);
}

function itemTimeOf({ policy }: Pick<WorkOrder, 'policy'>): number {
  return policy.timeouts.item_timeout_seconds * 1000;
}

async function discardAll(drafts: Draft[]): Promise<void> {
  for (const draft of drafts.splice(0)) await draft.discard();
}

function elapsedSince(then: number, clock: Clock): number {
  return Math.max(0, Math.round(clock.elapsed() - then));
}
