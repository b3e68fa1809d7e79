import { LANES, type Lane } from '../../domain/lane.ts';
import { Admission } from '../../domain/slot-share.ts';
import type { Clock } from '../../ports/clock.ts';
import type { BatchRef, Delivery, LaneDepth, ReceiverRoom, WorkQueue } from '../../ports/work-queue.ts';
import { Mailbox } from './queue/mailbox.ts';

/**
 * The queue of the owner process: a mailbox per lane in its memory. Nothing is written, because messages are hints: after
 * a restart the ledger still knows what was queued, and the reaper sends it out again.
 *
 * Receivers that find nothing stand in line. A message that comes is handed to them in the same call, and several
 * receivers share what is there, so that one process does not take all the work while another idles.
 */
export class EmbeddedWorkQueue implements WorkQueue {
  readonly #clock: Clock;
  readonly #lanes: ReadonlyMap<Lane, LaneState>;

  constructor(clock: Clock) {
    this.#clock = clock;
    // Receipts of an earlier run of this process must not be accepted.
    const life = clock.id();
    this.#lanes = new Map(LANES.map((lane) => [lane, new LaneState(`${lane}-${life}`)]));
  }

  async send(refs: readonly BatchRef[]): Promise<{ readonly refused: readonly BatchRef[] }> {
    const touched = new Set<LaneState>();
    for (const ref of refs) {
      const lane = this.#lane(ref.lane);
      lane.mailbox.put(ref);
      touched.add(lane);
    }
    for (const lane of touched) this.#serve(lane);
    return { refused: [] };
  }

  async receive(name: Lane, room: ReceiverRoom, hideMs: number, signal: AbortSignal): Promise<readonly Delivery[]> {
    if (signal.aborted) return [];
    const lane = this.#lane(name);
    const now = this.#clock.elapsed();
    const admission = new Admission(room.now());
    const there = lane.mailbox.take(admission.left, admission, now + hideMs, now);
    if (there.length > 0) return there;
    const { promise, resolve } = Promise.withResolvers<readonly Delivery[]>();
    const receiver: Receiver = { room, hideMs, resolve };
    const giveUp = () => {
      lane.receivers.delete(receiver);
      this.#setAlarm(lane);
      resolve([]);
    };
    lane.receivers.add(receiver);
    signal.addEventListener('abort', giveUp, { once: true });
    const ignoreRoom = room.onMore(() => this.#serve(lane));
    this.#setAlarm(lane);
    const taken = await promise;
    ignoreRoom();
    signal.removeEventListener('abort', giveUp);
    return taken;
  }

  async extend(receipts: readonly string[], hideMs: number): Promise<void> {
    const until = this.#clock.elapsed() + hideMs;
    for (const lane of this.#lanes.values()) {
      lane.mailbox.extend(receipts, until);
      this.#setAlarm(lane);
    }
  }

  async ack(receipts: readonly string[]): Promise<void> {
    for (const lane of this.#lanes.values()) lane.mailbox.ack(receipts);
  }

  async giveBack(receipts: readonly string[]): Promise<void> {
    for (const lane of this.#lanes.values()) {
      lane.mailbox.giveBack(receipts);
      this.#serve(lane);
    }
  }

  async depth(): Promise<readonly LaneDepth[]> {
    const now = this.#clock.elapsed();
    return [...this.#lanes].map(([lane, { mailbox }]) => {
      mailbox.wake(now);
      return { lane, waiting: mailbox.waiting, delivered: mailbox.delivered };
    });
  }

  #lane(name: Lane): LaneState {
    const lane = this.#lanes.get(name);
    if (lane === undefined) throw new Error(`there is no lane ${name}`);
    return lane;
  }

  #serve(lane: LaneState): void {
    const { mailbox, receivers } = lane;
    if (receivers.size === 0) return;
    const now = this.#clock.elapsed();
    mailbox.wake(now);
    for (const receiver of receivers) {
      if (mailbox.waiting === 0) break;
      const admission = new Admission(receiver.room.now());
      const share = Math.min(admission.left, Math.ceil(mailbox.waiting / receivers.size));
      const taken = mailbox.take(share, admission, now + receiver.hideMs, now);
      // All waiting messages may be of jobs that already have their share of this receiver.
      if (taken.length === 0) continue;
      receivers.delete(receiver);
      receiver.resolve(taken);
    }
    this.#setAlarm(lane);
  }

  /** Set only while a receiver waits: a later one looks for itself, and no timer is left over. */
  #setAlarm(lane: LaneState): void {
    const at = lane.receivers.size === 0 ? null : lane.mailbox.wakeAt();
    // An alarm that is too early only looks and is set again, so that acknowledging does not move timers about.
    if (at !== null && lane.alarm !== null && lane.alarm.at <= at) return;
    lane.alarm?.off.abort();
    lane.alarm = null;
    if (at === null) return;
    const alarm = { at, off: new AbortController() };
    lane.alarm = alarm;
    void this.#clock.sleep(Math.max(1, at - this.#clock.elapsed()), alarm.off.signal).then(() => {
      if (lane.alarm !== alarm) return;
      lane.alarm = null;
      if (!alarm.off.signal.aborted) this.#serve(lane);
    });
  }
}

interface Receiver {
  readonly room: ReceiverRoom;
  readonly hideMs: number;
  readonly resolve: (deliveries: readonly Delivery[]) => void;
}

class LaneState {
  readonly mailbox: Mailbox<BatchRef>;
  readonly receivers = new Set<Receiver>();
  alarm: { readonly at: number; readonly off: AbortController } | null = null;

  constructor(name: string) {
    this.mailbox = new Mailbox(name);
  }
}
