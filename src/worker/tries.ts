import { afterAttempt, isProxyFault } from '../domain/after-attempt.ts';
import type { SeenTry } from '../domain/failed-try.ts';
import type { Failure } from '../domain/failure.ts';
import { type HostStanding, isHeldByHost, isOfTheHost } from '../domain/held-back.ts';
import type { HeldBack } from '../domain/job-wait.ts';
import type { Policy } from '../domain/policy.ts';
import type { WorkOrder } from '../domain/work-order.ts';
import type { Clock } from '../ports/clock.ts';
import type { HostGate, RetryAnswer } from '../ports/host-gate.ts';
import type { LeasedItem } from '../ports/ledger.ts';
import type { Draft, ResultStore } from '../ports/result-store.ts';
import type { BatchScope } from '../scraping/batch-scope.ts';
import type { ScrapeResult, Scraper, ScrapeTools } from '../scraping/scraper.ts';
import type { UsageMeter } from '../scraping/usage-meter.ts';
import { AttemptGate } from './attempt-gate.ts';
import type { Deadlines } from './deadlines.ts';
import { FailedResults } from './failed-results.ts';
import { ItemTime } from './item-time.ts';
import type { JobLadders } from './job-ladders.ts';
import { type TriedItem, TryContext } from './try-context.ts';
import { untilDeadline } from './until-deadline.ts';

/** The result of the tries of an attempt. */
export interface Tried {
  readonly result: ScrapeResult | HeldItem | 'aborted';
  readonly tries: number;
  readonly failed: readonly SeenTry[];
}

/** The item goes back because of its host; includes the result of the last try. */
interface HeldItem {
  readonly kind: 'held';
  readonly held: HeldBack;
  readonly last: ScrapeResult;
}

/** A failed try that will be followed by another. */
export interface RepeatedTry {
  readonly tries: number;
  readonly failure: Failure;
  readonly delayMs: number;
}

export interface TryDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly store: Pick<ResultStore, 'draft'>;
  readonly tools: ScrapeTools;
  /** The gate as lent to one batch; that of `tools` if there are no batches. */
  readonly gate?: () => HostGate;
  readonly ladders: JobLadders;
  readonly meter: UsageMeter;
  readonly batch: BatchScope;
  readonly onFailedTry: (failed: RepeatedTry) => void;
}

interface TriedJob {
  readonly jobId: string;
  readonly scraper: Scraper;
  readonly order: Pick<WorkOrder, 'policy' | 'policyRevision' | 'jobCreatedAt'>;
}

/**
 * A failed result is that of the try that says most about the item. Drafts that were opened and not discarded are in
 * `drafts`.
 */
export async function tryUntilDecided(
  deps: TryDeps,
  job: TriedJob,
  item: Pick<LeasedItem, 'itemId' | 'input' | 'depth'>,
  drafts: Draft[],
  signal: AbortSignal,
): Promise<Tried> {
  const { clock, deadlines, ladders, onFailedTry } = deps;
  const { order, scraper } = job;
  const { policy } = order;
  const attempt = new AttemptTools(deps, job, item, drafts);
  const climb = ladders.begin(job, deps.tools.log);
  const failed = new FailedResults();
  let identity = 0;
  let proxySession = 0;
  let proxyFaults = 0;
  for (let tryNumber = 1; ; tryNumber += 1) {
    const { proxyType } = climb;
    const context = new TryContext(item.input, attempt, { tryNumber, identity, proxyType, proxySession, proxyFaults });
    const result = await untilDeadline(deadlines, () => scraper.scrape(context), attempt.time, signal);
    context.end();
    if (result === 'aborted' || result.kind !== 'failed') {
      climb.ended(result);
      return { result, tries: tryNumber, failed: failed.tries };
    }

    const { gate } = attempt;
    const so = { tries: tryNumber, proxyFaults, remainingMs: attempt.time.remainingMs() };
    const isHeld = isHeldByHost(result.failure, standingOf(gate), so.remainingMs);
    const decision = afterAttempt(so, result.failure, policy.retries, clock.chance());
    const retry = isHeld || decision.kind === 'give-up' ? 'go' : takeRetry(gate, result.failure);
    if (isHeld || retry === 'later') {
      climb.ended(result);
      return { result: heldBack(gate, result, isHeld, clock), tries: tryNumber, failed: failed.tries };
    }
    if (retry === 'never' || decision.kind === 'give-up') {
      climb.ended(result);
      return { result: failed.conclude(result, clock.now()), tries: tryNumber, failed: failed.tries };
    }
    await discardAll(drafts);
    // A site that refused us must not recognise us; if only the proxy failed, the site has nothing against us.
    if (decision.identity === 'new') identity += 1;
    if (decision.identity !== 'keep') proxySession += 1;
    if (isProxyFault(result.failure)) proxyFaults += 1;
    failed.add(result, clock.now(), decision.delayMs);
    climb.failed(result.failure);
    onFailedTry({ tries: tryNumber, failure: result.failure, delayMs: decision.delayMs });
    await clock.sleep(decision.delayMs, signal);
    if (signal.aborted) return { result: 'aborted', tries: tryNumber, failed: failed.tries };
  }
}

/** What one attempt has for all its tries. Gate and tools are created for the first scraper that asks for them. */
class AttemptTools implements TriedItem {
  readonly jobId: string;
  readonly jobCreatedAt: number;
  readonly itemId: string;
  readonly depth: number;
  readonly policy: Policy;
  readonly batch: BatchScope;
  readonly usage: UsageMeter;
  readonly clock: Clock;
  readonly time: ItemTime;
  readonly store: Pick<ResultStore, 'draft'>;
  readonly drafts: Draft[];
  readonly #deps: TryDeps;
  #gate: AttemptGate | null = null;
  #tools: ScrapeTools | null = null;

  constructor(deps: TryDeps, { jobId, order }: TriedJob, item: Pick<LeasedItem, 'itemId' | 'depth'>, drafts: Draft[]) {
    this.jobId = jobId;
    this.jobCreatedAt = order.jobCreatedAt;
    this.itemId = item.itemId;
    this.depth = item.depth ?? 0;
    this.policy = order.policy;
    this.batch = deps.batch;
    this.usage = deps.meter;
    this.clock = deps.clock;
    this.time = new ItemTime(deps.clock, itemTimeMs(order.policy));
    this.store = deps.store;
    this.drafts = drafts;
    this.#deps = deps;
  }

  get gate(): AttemptGate {
    this.#gate ??= new AttemptGate(this.#deps.gate?.() ?? this.#deps.tools.gate);
    return this.#gate;
  }

  tools(): ScrapeTools {
    this.#tools ??= { ...this.#deps.tools, gate: this.gate };
    return this.#tools;
  }
}

function standingOf(gate: AttemptGate): HostStanding | null {
  const pause = gate.pause();
  return pause === null ? null : { pauseMs: pause.ms, isAway: pause.isAway, wasAsked: gate.hadAnswer };
}

/** Failures of the item or of the proxy are not held against the host. */
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

export function itemTimeMs({ timeouts }: Policy): number {
  return timeouts.item_timeout_seconds * 1000;
}

export async function discardAll(drafts: Draft[]): Promise<void> {
  for (const draft of drafts.splice(0)) await draft.discard();
}

export function elapsedSince(then: number, clock: Clock): number {
  return Math.max(0, Math.round(clock.elapsed() - then));
}
