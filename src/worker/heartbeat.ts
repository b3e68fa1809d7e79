import { Worker } from 'node:worker_threads';
import type { Clock } from '../ports/clock.ts';
import type { WorkerLeases } from '../ports/ledger.ts';
import type { WorkerQueue } from '../ports/work-queue.ts';
import { type Held, LeaseTable } from './lease-table.ts';

/**
 * Keeps what a worker holds: renews its leases and hides its messages again, four times in the life of a lease. The worker
 * sets what each place holds, and the heartbeat reports which leases are lost.
 */
export interface Heartbeat {
  hold(slot: number, held: Held): void;
  drop(slot: number): void;
  /**
   * Called with the token of a lease that was lost while a place holds it. The news may be old: a batch whose end is
   * being recorded at this moment is lost in this sense too.
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

/** Three beats may fail before a lease runs out. */
export const BEATS_PER_LEASE = 4;

/** One beat. Returns the tokens that are lost; throws if the ledger could not be asked. */
export async function beatOnce(held: readonly Held[], deps: BeatDeps): Promise<readonly string[]> {
  if (held.length === 0) return [];
  const { leases, queue, clock, leaseMs } = deps;
  const receipts = held.map(({ receipt }) => receipt);
  // Not worth an error nor a wait: a message that comes again is refused by the ledger, because its batch is held; and
  // a queue that hangs must not cost us our leases.
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
  /** One beat, over whatever is held at that moment: answers the tokens that are lost. */
  readonly beat: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly onLost: (tokens: readonly string[]) => void;
  readonly onTrouble: (error: unknown) => void;
  /** No beat was answered for the life of a lease: whatever they went through is worth another try. */
  readonly onSilence: () => void;
}

/**
 * Beats until `signal` aborts. A beat has a quarter of a lease to be answered, then the next one goes out: a single
 * answer that never comes would otherwise cost every lease of the process. A late answer still counts, and does no harm:
 * a token that is lost stays lost, because no token is given twice, and a renewal never shortens a lease.
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
      // One that is late was reported when its time was over, and one that is cut off by the stop is expected.
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

/** An abort without a reason makes an exception with a stack trace, which is not read here. */
const OVER = 'the beat is over';

/**
 * A heartbeat in a thread of its own, which a scraper that computes for a minute cannot hold up. The main thread writes
 * what it holds into a shared table; the thread reads it at every beat and has its own connection to the owner.
 *
 * It also watches the main thread. One that holds work and has not come round for `hangLimitMs` is in an endless loop,
 * and as nothing else can free its slots, the thread kills the process.
 */
interface HeartbeatThreadDeps {
  /** The module that the thread runs: it calls `runHeartbeatThread`. src/main supplies it, because it names adapters. */
  readonly entry: URL;
  /** Whatever that module needs in order to connect; it must survive being sent to another thread. */
  readonly connectWith: unknown;
  readonly slots: number;
  readonly leaseMs: number;
  readonly hangLimitMs: number;
  readonly clock: Clock;
  readonly onTrouble: (error: unknown) => void;
}

/** The largest page that we take is read in a second or two; what holds the thread for a minute will not let it go. */
export const DEFAULT_HANG_LIMIT_MS = 60_000;

/** What the thread gets when it starts. */
export interface ThreadData {
  readonly table: SharedArrayBuffer;
  readonly leaseMs: number;
  readonly hangLimitMs: number;
  readonly connectWith: unknown;
}

/** What it says. */
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

  /** A thread that dies takes every lease with it in the end, so there is another one soon. */
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
    // A process that has nothing else to do should be able to end.
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

/** To say goodbye to the owner; a thread that takes longer is stuck. */
const STOP_MS = 5000;

/** How often the main thread ticks, and how often the thread looks. */
export function lookEveryMs(hangLimitMs: number): number {
  return Math.min(1000, hangLimitMs / 10);
}

/** After a beat that failed. */
function beatAgainAfterMs(leaseMs: number): number {
  return Math.min(1000, leaseMs / (2 * BEATS_PER_LEASE));
}
