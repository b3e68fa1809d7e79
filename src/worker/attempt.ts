import { afterAttempt } from '../domain/after-attempt.ts';
import { artifactKey, type Digest, type ProducedArtifact, type StoredArtifact } from '../domain/artifact.ts';
import { failure } from '../domain/failure.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Clock } from '../ports/clock.ts';
import type { Faults } from '../ports/faults.ts';
import type { LeasedItem, Settlement, WorkOrder } from '../ports/ledger.ts';
import type { ResultStore } from '../ports/result-store.ts';
import { checkedResult } from '../scraping/checked-result.ts';
import type { ScrapeContext, ScrapeResult, Scraper } from '../scraping/scraper.ts';

/**
 * One attempt at an item: try, and try again as the policy says, until there is an outcome or the item's time is over;
 * then keep the bytes. What comes out is ready to be settled. `aborted` means that the attempt was taken from us (the
 * worker stops, or the lease is lost) and is nobody's failure. StorageTrouble passes through: it is not the item's
 * either.
 */
export async function runAttempt(
  parts: AttemptParts,
  job: { readonly jobId: string; readonly order: WorkOrder; readonly scraper: Scraper | null },
  item: LeasedItem,
  signal: AbortSignal,
): Promise<Settlement | 'aborted'> {
  const { clock, faults } = parts;
  const startedAt = clock.now();
  const begunAt = clock.elapsed();
  const { result, tries } = await tryUntilDecided(parts, job, item, signal);
  if (result === 'aborted') return 'aborted';
  await faults.at('after-work-before-bytes');
  const outcome = await keepBytes(parts, job.jobId, item, result);
  return { seq: item.seq, attempt: item.attempt, outcome, tries, startedAt, durationMs: elapsedSince(begunAt, clock) };
}

export interface AttemptParts {
  readonly clock: Clock;
  readonly store: ResultStore;
  readonly faults: Faults;
  readonly digest: Digest;
}

async function tryUntilDecided(
  { clock }: AttemptParts,
  { jobId, order, scraper }: { jobId: string; order: WorkOrder; scraper: Scraper | null },
  item: LeasedItem,
  signal: AbortSignal,
): Promise<{ result: ScrapeResult | 'aborted'; tries: number }> {
  if (scraper === null) {
    const message = `this worker has no scraper ${order.scraperId}`;
    return { result: { kind: 'failed', failure: failure('unexpected', message) }, tries: 0 };
  }
  const { policy } = order;
  const itemTimeMs = policy.timeouts.item_timeout_seconds * 1000;
  const begunAt = clock.elapsed();
  let identity: ScrapeContext['identity'] = 'keep';
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
      signal: cut.signal,
      sleep: (ms) => clock.sleep(ms, cut.signal),
    };
    const result = await untilDeadline(scraper, context, cut, { remainingMs, itemTimeMs, clock }, signal);
    if (result === 'aborted' || result.kind !== 'failed') return { result, tries };

    const so = { tries, remainingMs: itemTimeMs - elapsedSince(begunAt, clock) };
    const decision = afterAttempt(so, result.failure, policy.retries, clock.chance());
    if (decision.kind === 'give-up') return { result, tries };
    identity = decision.identity;
    await clock.sleep(decision.delayMs, signal);
    if (signal.aborted) return { result: 'aborted', tries };
  }
}

/** The slot is free when the time is over by our clock, whether or not the scraper has noticed. */
async function untilDeadline(
  scraper: Scraper,
  context: ScrapeContext,
  cut: AbortController,
  time: { remainingMs: number; itemTimeMs: number; clock: Clock },
  signal: AbortSignal,
): Promise<ScrapeResult | 'aborted'> {
  if (signal.aborted) return 'aborted';
  const { promise: taken, resolve: take } = Promise.withResolvers<'aborted'>();
  const onAbort = () => take('aborted');
  signal.addEventListener('abort', onAbort, { once: true });
  const settled = new AbortController();
  const late = time.clock.sleep(time.remainingMs, settled.signal).then((): ScrapeResult => {
    return { kind: 'failed', failure: failure('timeout', `item took longer than ${time.itemTimeMs / 1000} s`) };
  });
  try {
    return await Promise.race([scrapeSafely(scraper, context), late, taken]);
  } finally {
    settled.abort(OVER);
    cut.abort(OVER);
    signal.removeEventListener('abort', onAbort);
  }
}

/** An abort without a reason makes an exception with a stack trace: a quarter of what an empty item costs. */
const OVER = 'the try is over';

async function scrapeSafely(scraper: Scraper, context: ScrapeContext): Promise<ScrapeResult> {
  try {
    return checkedResult(await scraper.scrape(context));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: 'failed', failure: failure('unexpected', message, { cause: error }) };
  }
}

async function keepBytes(parts: AttemptParts, jobId: string, item: LeasedItem, result: ScrapeResult): Promise<Outcome> {
  if (result.kind !== 'scraped') return result;
  const artifacts: StoredArtifact[] = [];
  for (const artifact of result.artifacts) artifacts.push(await keep(parts, jobId, item, artifact));
  return { kind: 'scraped', artifacts };
}

/** Text over this size is kept gzipped (SPEC §3); documents and pictures are compressed by their own format. */
const GZIP_ABOVE_BYTES = 1024;

async function keep(
  { store, digest }: AttemptParts,
  jobId: string,
  { itemId, attempt }: LeasedItem,
  { kind, bytes, contentType, extension }: ProducedArtifact,
): Promise<StoredArtifact> {
  const key = artifactKey({ jobId, itemId, attempt }, { kind, extension }, digest);
  const encoding = kind === 'html' && bytes.length > GZIP_ABOVE_BYTES ? 'gzip' : 'identity';
  const { size, sha256 } = await store.put(key, bytes, { contentType, encoding, ifTaken: 'keep' });
  return { kind, key, size, sha256, encoding, contentType };
}

function elapsedSince(then: number, clock: Clock): number {
  return Math.max(0, Math.round(clock.elapsed() - then));
}
