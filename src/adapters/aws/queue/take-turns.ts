import { backoffMs } from '../../../domain/backoff.ts';
import { Admission, turnsSomeAway } from '../../../domain/slot-share.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { ReceiverRoom } from '../../../ports/work-queue.ts';
import { MAX_ENTRIES } from './batches.ts';
import type { SqsDelivery } from './message.ts';

interface Receiving {
  readonly room: ReceiverRoom;
  readonly hideMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface TurnDeps {
  receive(max: number): Promise<readonly SqsDelivery[]>;
  hide(receipts: readonly string[], ms: number): Promise<void>;
  giveBack(receipts: readonly string[]): Promise<void>;
  /** Sends these messages again, and deletes the old ones. */
  sendAgain(deliveries: readonly SqsDelivery[]): Promise<void>;
}

/**
 * Takes from SQS what a receiver has room for. SQS does not let a receiver choose, so a message of a job that has its
 * share here comes all the same. Such messages are passed over: they stay hidden for a few seconds, and are there again
 * for every process afterwards. If a slot becomes free in those seconds, they are taken at once.
 *
 * Then the next ones are requested: after a second, and less often the longer nothing else comes, because every request
 * costs money. Message groups (`send`) make a message of another job come first, although thousands of the busy job wait.
 *
 * SQS counts how often a message was received and treats one that was received too often as a dead letter, which would
 * count against its items. So after some times it is sent again, which resets the count.
 */
export async function takeFromAnyJob(
  { room, hideMs, clock, signal }: Receiving,
  deps: TurnDeps,
): Promise<readonly SqsDelivery[]> {
  for (let passes = 0; !signal.aborted; ) {
    const now = room.now();
    const { left } = new Admission(now);
    if (left <= 0) {
      await roomOrTime(room, PASS_MS, clock, signal);
      continue;
    }
    const came = await deps.receive(turnsSomeAway(now) ? Math.min(left, MAX_ENTRIES) : left);
    const { admitted, others } = sort(came, room);
    const passMs = backoffMs(passes, PASS_MS, LONGEST_PASS_MS);
    const kept = await passOver(others, passMs, deps);
    if (admitted.length > 0) return admitted;
    if (others.length === 0) continue;
    passes += 1;
    await roomOrTime(room, passMs, clock, signal);
    if (signal.aborted) await deps.giveBack(receiptsOf(kept));
    else {
      const late = sort(kept, room).admitted;
      if (late.length === 0) continue;
      await deps.hide(receiptsOf(late), hideMs);
      return late;
    }
  }
  return [];
}

const PASS_MS = 1000;
const LONGEST_PASS_MS = 5000;

/** A second longer than we keep them, so that no other process gets what we may still take. */
const MARGIN_MS = 1000;

/** Half of what our queues allow (`provision/queues.ts`), because others may pass it over, too. */
const SEND_AGAIN_AFTER = 5;

function sort(deliveries: readonly SqsDelivery[], room: ReceiverRoom) {
  const admission = new Admission(room.now());
  const admitted: SqsDelivery[] = [];
  const others: SqsDelivery[] = [];
  for (const delivery of deliveries) {
    const isAdmitted = admission.admits(delivery.ref.jobId);
    if (isAdmitted) admission.enter(delivery.ref.jobId);
    (isAdmitted ? admitted : others).push(delivery);
  }
  return { admitted, others };
}

/** Returns those that we still have. */
async function passOver(
  deliveries: readonly SqsDelivery[],
  passMs: number,
  { hide, sendAgain }: TurnDeps,
): Promise<readonly SqsDelivery[]> {
  const kept = deliveries.filter(({ receives }) => receives < SEND_AGAIN_AFTER);
  const worn = deliveries.filter(({ receives }) => receives >= SEND_AGAIN_AFTER);
  if (kept.length > 0) await hide(receiptsOf(kept), passMs + MARGIN_MS);
  if (worn.length > 0) await sendAgain(worn);
  return kept;
}

function receiptsOf(deliveries: readonly SqsDelivery[]): string[] {
  return deliveries.map(({ receipt }) => receipt);
}

/** Resolves when there may be more room, when `ms` have passed, or when `signal` aborts. */
async function roomOrTime(room: ReceiverRoom, ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const enough = new AbortController();
  const stop = () => enough.abort(ENOUGH);
  const ignoreRoom = room.onMore(stop);
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (!signal.aborted) await clock.sleep(ms, enough.signal);
  } finally {
    signal.removeEventListener('abort', stop);
    ignoreRoom();
  }
}

/** An abort without a reason creates an exception with a stack trace. */
const ENOUGH = 'there is more room';
