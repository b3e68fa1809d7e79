import { Mailbox } from '../../../src/adapters/embedded/queue/mailbox.ts';
import { LANES, type Lane } from '../../../src/domain/lane.ts';
import { Admission } from '../../../src/domain/slot-share.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { BatchRef, Delivery, LaneDepth, ReceiverRoom, WorkQueue } from '../../../src/ports/work-queue.ts';

/**
 * A mailbox per lane, and a bell that wakes those who wait at it: when a message comes, when one is given back, and when
 * the time of a hidden one is over. A woken receiver checks for itself, and may find that another was faster.
 */
export class MemoryQueue implements WorkQueue {
  readonly #clock: Clock;
  readonly #lanes: ReadonlyMap<Lane, { readonly mailbox: Mailbox<BatchRef>; readonly bell: Bell }>;

  constructor(clock: Clock) {
    this.#clock = clock;
    const born = clock.id();
    this.#lanes = new Map(
      LANES.map((lane) => {
        const mailbox = new Mailbox<BatchRef>(`${lane}-${born}`);
        return [lane, { mailbox, bell: new Bell(clock, () => mailbox.wakeAt()) }];
      }),
    );
  }

  async send(refs: readonly BatchRef[]): Promise<{ readonly refused: readonly BatchRef[] }> {
    for (const ref of refs) this.#lane(ref.lane).mailbox.put(ref);
    for (const lane of new Set(refs.map((ref) => ref.lane))) this.#lane(lane).bell.ring();
    return { refused: [] };
  }

  async receive(lane: Lane, room: ReceiverRoom, hideMs: number, signal: AbortSignal): Promise<readonly Delivery[]> {
    const { mailbox, bell } = this.#lane(lane);
    const ignoreRoom = room.onMore(() => bell.ring());
    try {
      while (!signal.aborted) {
        const now = this.#clock.elapsed();
        const admission = new Admission(room.now());
        const taken = mailbox.take(admission.left, admission, now + hideMs, now);
        if (taken.length > 0) return taken;
        await bell.rings(signal);
      }
      return [];
    } finally {
      ignoreRoom();
    }
  }

  async extend(receipts: readonly string[], hideMs: number): Promise<void> {
    for (const { mailbox, bell } of this.#lanes.values()) {
      mailbox.extend(receipts, this.#clock.elapsed() + hideMs);
      bell.setAlarm();
    }
  }

  async ack(receipts: readonly string[]): Promise<void> {
    for (const { mailbox } of this.#lanes.values()) mailbox.ack(receipts);
  }

  async giveBack(receipts: readonly string[]): Promise<void> {
    for (const { mailbox, bell } of this.#lanes.values()) {
      mailbox.giveBack(receipts);
      if (mailbox.waiting > 0) bell.ring();
    }
  }

  async depth(): Promise<readonly LaneDepth[]> {
    const now = this.#clock.elapsed();
    return [...this.#lanes].map(([lane, { mailbox }]) => {
      mailbox.wake(now);
      return { lane, waiting: mailbox.waiting, delivered: mailbox.delivered };
    });
  }

  #lane(name: Lane) {
    const lane = this.#lanes.get(name);
    if (lane === undefined) throw new Error(`there is no lane ${name}`);
    return lane;
  }
}

export function openMemoryQueue(clock: Clock): MemoryQueue {
  return new MemoryQueue(clock);
}

/** Wakes all waiting receivers. Its alarm is set only while one waits: a queue without receivers holds no timer. */
class Bell {
  readonly #clock: Clock;
  readonly #nextAt: () => number | null;
  readonly #waiting = new Set<() => void>();
  #alarm: { readonly at: number; readonly off: AbortController } | null = null;

  constructor(clock: Clock, nextAt: () => number | null) {
    this.#clock = clock;
    this.#nextAt = nextAt;
  }

  ring(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves when it rings or `signal` aborts. */
  rings(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => {
      this.#waiting.delete(wake);
      signal.removeEventListener('abort', wake);
      if (this.#waiting.size === 0) this.#stopAlarm();
      resolve();
    };
    this.#waiting.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    this.setAlarm();
    return promise;
  }

  /** Call it whenever the next time may have come nearer. */
  setAlarm(): void {
    const at = this.#nextAt();
    if (this.#waiting.size === 0 || at === null || (this.#alarm !== null && this.#alarm.at <= at)) return;
    this.#stopAlarm();
    const alarm = { at, off: new AbortController() };
    this.#alarm = alarm;
    void this.#clock.sleep(Math.max(0, at - this.#clock.elapsed()), alarm.off.signal).then(() => {
      if (this.#alarm !== alarm) return;
      this.#alarm = null;
      this.ring();
    });
  }

  #stopAlarm(): void {
    this.#alarm?.off.abort();
    this.#alarm = null;
  }
}
