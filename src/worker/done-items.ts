import { ownErrorFailure } from '../domain/own-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { Faults } from '../ports/faults.ts';
import type { Lease, Settlement } from '../ports/ledger.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import type { OwnErrors } from './own-errors.ts';
import type { Settler } from './settle.ts';

/** An error of our own, and how long to wait before the work goes back. */
export interface OwnTrouble {
  readonly error: unknown;
  readonly delayMs: number;
}

export interface DoneItemsDeps {
  readonly settler: Settler;
  readonly ownErrors: OwnErrors;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly settings: { readonly settleEveryMs: number };
  /** Whether the batch was cut off because its lease is lost, rather than because the worker stops. */
  readonly isLost: (signal: AbortSignal) => boolean;
  readonly onError: (where: string, error: unknown) => void;
}

/** `fenced`: the lease is no longer ours. */
type Answer = 'recorded' | 'fenced' | OwnTrouble;

/**
 * The finished items of a batch until the ledger has them. They are settled beside the item that is processed next, so that
 * a slow one does not hold up what was done before it. The batch is
 *
 *   settled    the ledger has everything
 *   gathering  something is finished; it is settled when the period is over
 *   settling   what ends meanwhile is gathered, and settled in the next period
 *
 * A period has `settleEveryMs`. Periods are those of the process, and not of the batch: so the batches of a worker are settled
 * in one call, which costs the ledger little more than one item. Of slow items, each is settled as soon as it ends.
 */
export class DoneItems {
  readonly #deps: DoneItemsDeps;
  readonly #lease: Lease;
  readonly #signal: AbortSignal;
  #gathered: Settlement[] = [];
  /** When the first of those ended that the ledger does not have. */
  #oldestAt = 0;
  #settledAt: number;
  #beside: Promise<void> | null = null;
  /** Ends the wait for the period. */
  #hurry: AbortController | null = null;
  #answer: Answer = 'recorded';

  constructor(deps: DoneItemsDeps, lease: Lease, signal: AbortSignal) {
    this.#deps = deps;
    this.#lease = lease;
    this.#signal = signal;
    this.#settledAt = deps.clock.elapsed();
  }

  /** Whether there is something that the ledger does not have, as far as we know. */
  get isWaiting(): boolean {
    return this.#gathered.length > 0 || this.#beside !== null;
  }

  /** What became of everything that was settled so far. */
  get answer(): Answer {
    return this.#answer;
  }

  /** The ledger does not keep up: the batch must wait for it, or more and more would be lost with this process. */
  get isBehind(): boolean {
    const { clock, settings } = this.#deps;
    return this.isWaiting && clock.elapsed() - this.#oldestAt >= PERIODS_BEHIND * settings.settleEveryMs;
  }

  add(item: Settlement): void {
    if (!this.isWaiting) this.#oldestAt = this.#deps.clock.elapsed();
    this.#gathered.push(item);
  }

  /** To be called when the batch goes on. */
  settleBeside(): void {
    if (this.#gathered.length > 0) this.#beside ??= this.#settleLater();
  }

  /** Everything, now. After an answer other than `recorded`, what can still be settled is. */
  async settleAll(): Promise<Answer> {
    await this.stop();
    if (this.#gathered.length > 0 && this.#answer !== 'fenced') await this.#settleGathered();
    return this.#answer;
  }

  /** Settles nothing more, and waits for what is under way. */
  async stop(): Promise<void> {
    this.#hurry?.abort(HURRY);
    if (this.#beside !== null) await this.#beside;
  }

  async #settleLater(): Promise<void> {
    const { clock, settings } = this.#deps;
    const { settleEveryMs: every } = settings;
    const hurry = new AbortController();
    this.#hurry = hurry;
    const now = clock.elapsed();
    if (now - this.#settledAt < every) await clock.sleep(every - (now % every), hurry.signal);
    if (!hurry.signal.aborted) await this.#settleGathered();
    this.#hurry = null;
    this.#beside = null;
    // What ended meanwhile; unless the batch is about to learn that it must not go on.
    if (!hurry.signal.aborted && this.#answer === 'recorded') this.settleBeside();
  }

  async #settleGathered(): Promise<void> {
    const items = this.#gathered;
    this.#gathered = [];
    this.#settledAt = this.#deps.clock.elapsed();
    const answer = await settleTogether(this.#deps, this.#lease, items, this.#signal);
    // What was gathered meanwhile ended after this.
    this.#oldestAt = this.#settledAt;
    if (answer === 'fenced' || this.#answer === 'recorded') this.#answer = answer;
  }
}

/** How many periods old the first unsettled item may be before the batch waits. */
const PERIODS_BEHIND = 2;

/** An abort without a reason would create an exception with a stack trace. */
const HURRY = 'the period is cut short';

/**
 * Records finished items. A failing ledger is asked again a few times, then item by item: one item
 * that cannot be recorded must not cost the others, and is itself recorded as failed after enough attempts.
 */
async function settleTogether(
  deps: DoneItemsDeps,
  lease: Lease,
  items: readonly Settlement[],
  signal: AbortSignal,
): Promise<Answer> {
  const answer = await settle(deps, lease, items, SETTLE_TRIES, signal);
  if (typeof answer !== 'object') return answer;
  let trouble: OwnTrouble | null = null;
  for (const item of items) {
    const one = await settleOne(deps, lease, item, signal);
    if (one === 'fenced') return 'fenced';
    if (one !== 'recorded') trouble ??= one;
  }
  return trouble ?? 'recorded';
}

async function settleOne(deps: DoneItemsDeps, lease: Lease, item: Settlement, signal: AbortSignal): Promise<Answer> {
  const answer = await settle(deps, lease, [item], 1, signal);
  if (typeof answer !== 'object') return answer;
  const next = deps.ownErrors.note(lease, item);
  if (next.kind === 'give-back') return { ...answer, delayMs: next.delayMs };
  const failed = { ...item, outcome: { kind: 'failed', failure: ownErrorFailure(answer.error) } } as const;
  const last = await settle(deps, lease, [failed], SETTLE_TRIES, signal);
  return typeof last === 'object' ? { ...last, delayMs: SETTLE_AGAIN_MS } : last;
}

/** A stopping worker also waits for space: unsettled items would get a strike. */
async function settle(
  deps: DoneItemsDeps,
  lease: Lease,
  items: readonly Settlement[],
  maxTries: number,
  signal: AbortSignal,
): Promise<'recorded' | 'fenced' | { readonly error: unknown }> {
  const part = { token: lease.token, jobId: lease.ref.jobId, items };
  for (let tries = 1; ; ) {
    try {
      await deps.faults.at('after-bytes-before-settle');
      const answer = await deps.settler.settle(part, signal);
      if (answer === 'recorded') for (const item of items) deps.ownErrors.forget(lease, item);
      return answer;
    } catch (error) {
      if (deps.isLost(signal) || isHopeless(error, signal)) return 'fenced';
      if (error instanceof StorageTrouble) continue;
      deps.onError(`settling batch ${lease.ref.batchId} of job ${lease.ref.jobId}`, error);
      if (tries >= maxTries) return { error };
      await deps.clock.sleep(SETTLE_AGAIN_MS * tries);
      tries += 1;
    }
  }
}

/**
 * A ledger that accepts no more writes before its restart: a stopping worker would wait forever, and a restart of the
 * ledger's owner charges no item.
 */
export function isHopeless(error: unknown, signal: AbortSignal): boolean {
  return error instanceof StorageTrouble && error.kind === 'broken' && signal.aborted;
}

/** Covers a lost call; an error that occurs every time fails these as well. */
const SETTLE_TRIES = 3;
const SETTLE_AGAIN_MS = 500;
