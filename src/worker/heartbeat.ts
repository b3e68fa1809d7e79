import { Worker } from 'node:worker_threads';
import type { Clock } from '../ports/clock.ts';
import type { WorkerLeases } from '../ports/ledger.ts';
import type { WorkerQueue } from '../ports/work-queue.ts';
import { type Held, LeaseTable } from './lease-table.ts';

/**
 * Keeps a worker's leases: renews them and hides their messages again, four times per lease. The worker records what
 * each place has, and the heartbeat reports which leases are lost.
 */
export interface Heartbeat {
  hold(slot: number, held: Held): void;
  drop(slot: number): void;
  /**
   * Called with the token of a lost lease that a place still has. The report may be late: a batch whose end is being
   * recorded at this moment also counts as lost.
   */
  onLost(listener: (token: string) => void): void;
  stop(): Promise<void>;
}

export interface BeatDeps {
  readonly leases: Pick<WorkerLeases, 'renew'>;
  readonly queue: Pick<WorkerQueue, 'extend'>;
  readonly clock: Clock;
  readonly leaseMs: number;
}

/** Three beats may fail before a lease expires. */
export const BEATS_PER_LEASE = 4;

/** One beat. Returns the lost tokens; throws if the ledger could not be asked. */
export async function beatOnce(held: readonly Held[], deps: BeatDeps): Promise<readonly string[]> {
  if (held.length === 0) return [];
  const { leases, queue, clock, leaseMs } = deps;
  const receipts = held.map(({ receipt }) => receipt);
  // Neither an error nor a wait is worthwhile: the ledger refuses a repeated message, because its batch is leased; and
  // a hanging queue must not cost us our leases.
  queue.extend(receipts, leaseMs).catch(() => {});
  return leases.renew(
    held.map(({ token }) => token),
    clock.now() + leaseMs,
  );
}

/** The ledger did not say whether it renewed our leases. */
export class NotAnswered extends Error {
  constructor(withinMs: number) {
    super(`a renewal of leases was not answered within ${withinMs} ms`);
    this.name = 'NotAnswered';
  }
}

interface BeatLoopDeps {
  /** One beat, over all current leases: returns the lost tokens. */
  readonly beat: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly onLost: (tokens: readonly string[]) => void;
  readonly onTrouble: (error: unknown) => void;
  /** No beat was answered for the duration of a lease: a new connection is worth trying. */
  readonly onSilence: () => void;
}

/**
 * Beats until `signal` aborts. A beat has a quarter of a lease to be answered, then the next one goes out: otherwise a
 * single answer that never comes would cost every lease of the process. A late answer still counts, and does no harm: a
 * lost token stays lost, because no token is given twice, and a renewal never shortens a lease.
 */
export async function beatUntilStopped(deps: BeatLoopDeps, signal: AbortSignal): Promise<void> {
  const { clock, leaseMs, onTrouble } = deps;
  const everyMs = leaseMs / BEATS_PER_LEASE;
  let unanswered = 0;
  while (!signal.aborted) {
    const answer = await beatInTime(deps, everyMs, signal);
    if (signal.aborted) return;
    unanswered = answer === 'late' ? unanswered + 1 : 0;
    if (answer === 'late') onTrouble(new NotAnswered(everyMs));
    if (unanswered > 0 && unanswered % BEATS_PER_LEASE === 0) deps.onSilence();
    if (answer !== 'late') await clock.sleep(answer === 'well' ? everyMs : beatAgainAfterMs(leaseMs), signal);
  }
}

async function beatInTime(
  { beat, clock, onLost, onTrouble }: BeatLoopDeps,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<'well' | 'failed' | 'late'> {
  const over = new AbortController();
  const end = () => over.abort(OVER);
  signal.addEventListener('abort', end, { once: true });
  const answered = beat().then(
    (lost) => {
      if (lost.length > 0) onLost(lost);
      return 'well' as const;
    },
    (error: unknown) => {
      // A late one was reported when its time was over, and one cut off by the stop is expected.
      if (!over.signal.aborted) onTrouble(error);
      return 'failed' as const;
    },
  );
  const late = clock.sleep(deadlineMs, over.signal).then(() => 'late' as const);
  try {
    return await Promise.race([answered, late]);
  } finally {
    end();
    signal.removeEventListener('abort', end);
  }
}

/** An abort without a reason creates an exception with a stack trace, which would not be read here. */
const OVER = 'the beat is over';

/**
 * A heartbeat in its own thread, which a scraper that computes for a minute cannot delay. The main thread writes its
 * leases into a shared table; the thread reads it at every beat and has its own connection to the owner.
 * It also watches the main thread. If that has work and has not responded for `hangLimitMs`, it is in an endless loop,
 * and because nothing else can free its slots, the thread kills the process.
 */
interface HeartbeatThreadDeps {
  /** The module that the thread runs: it calls `runHeartbeatThread`. src/main supplies it, because it names adapters. */
  readonly entry: URL;
  /** Whatever that module needs in order to connect; it is copied to another thread. */
  readonly connectWith: unknown;
  readonly slots: number;
  readonly leaseMs: number;
  readonly hangLimitMs: number;
  readonly clock: Clock;
  readonly onTrouble: (error: unknown) => void;
}

/**
 * The largest accepted page is read in a second or two; whatever blocks the thread for a minute will not release it.
 */
export const DEFAULT_HANG_LIMIT_MS = 60_000;

/** What the thread gets when it starts. */
export interface ThreadData {
  readonly table: SharedArrayBuffer;
  readonly leaseMs: number;
  readonly hangLimitMs: number;
  readonly connectWith: unknown;
}

/** Messages of the thread. */
export type FromThread = { readonly lost: readonly string[] } | { readonly trouble: string };

export function startHeartbeatThread(deps: HeartbeatThreadDeps): Heartbeat {
  const { clock, leaseMs, hangLimitMs, connectWith, onTrouble } = deps;
  const table = LeaseTable.of(deps.slots);
  const tokenOf: (string | undefined)[] = [];
  const listeners: ((token: string) => void)[] = [];
  const stop = new AbortController();
  let thread: Worker | null = null;
  const running = Promise.all([runThreads(), tickUntilStopped()]);

  return {
    hold(slot, held) {
      table.hold(slot, held);
      tokenOf[slot] = held.token;
    },
    drop(slot) {
      table.drop(slot);
      tokenOf[slot] = undefined;
    },
    onLost: (listener) => void listeners.push(listener),
    async stop() {
      stop.abort();
      const stuck = new AbortController();
      thread?.ref();
      thread?.postMessage('stop');
      void clock.sleep(STOP_MS, stuck.signal).then(() => thread?.terminate());
      await running;
      stuck.abort();
    },
  };

  /** If a thread died, every lease would eventually be lost, so it is soon replaced. */
  async function runThreads(): Promise<void> {
    while (!stop.signal.aborted) {
      await runThread();
      if (stop.signal.aborted) return;
      onTrouble(new Error('the heartbeat thread ended by itself; starting another'));
      await clock.sleep(beatAgainAfterMs(leaseMs), stop.signal);
    }
  }

  async function runThread(): Promise<void> {
    const data: ThreadData = { table: table.buffer, leaseMs, hangLimitMs, connectWith };
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const started = new Worker(deps.entry, { workerData: data });
    thread = started;
    // Does not keep alive a process that has nothing else to do.
    started.unref();
    started.on('error', onTrouble);
    started.on('exit', () => end());
    started.on('message', (message: FromThread) => {
      if ('trouble' in message) onTrouble(new Error(`heartbeat: ${message.trouble}`));
      else for (const token of message.lost) if (tokenOf.includes(token)) for (const tell of listeners) tell(token);
    });
    await ended;
    thread = null;
  }

  async function tickUntilStopped(): Promise<void> {
    while (!stop.signal.aborted) {
      table.tick();
      await clock.sleep(lookEveryMs(hangLimitMs), stop.signal);
    }
  }
}

/** Time to disconnect from the owner; a thread that takes longer is stuck. */
const STOP_MS = 5000;

/** How often the main thread ticks, and the thread looks. */
export function lookEveryMs(hangLimitMs: number): number {
  return Math.min(1000, hangLimitMs / 10);
}

/** Delay after a failed beat. */
function beatAgainAfterMs(leaseMs: number): number {
  return Math.min(1000, leaseMs / (2 * BEATS_PER_LEASE));
}
