import type { Admission } from '../../../domain/slot-share.ts';

/**
 * The messages of one lane, in the memory of one process. A message is
 *
 *   waiting    in the line of its job, one message per batch: sending a batch that waits already adds nothing
 *   delivered  hidden until a time; then it goes to the end of the line, unless it was acknowledged before
 *
 * Jobs take turns, and within a job the first in is the first out.
 *
 * A receipt names one delivery and is good until the message is back in the line; one that is not is passed over without
 * a word. Time comes in as an argument, and every operation costs the same however many messages there are (the next to
 * wake is kept in a heap).
 */
export class Mailbox<T extends MailRef> {
  readonly #name: string;
  readonly #lines = new JobLines<T>();
  readonly #inLine = new Set<string>();
  readonly #hidden = new Map<string, Hidden<T>>();
  #alarms: Alarm[] = [];
  #deliveries = 0;

  /** Receipts begin with `name`: no two mailboxes may share one, nor the same lane before and after a restart. */
  constructor(name: string) {
    this.#name = name;
  }

  /** As of the last `wake` or `take`. */
  get waiting(): number {
    return this.#lines.size;
  }

  get delivered(): number {
    return this.#hidden.size;
  }

  /** False when the batch waits already. */
  put(ref: T): boolean {
    if (this.#inLine.has(ref.batchId)) return false;
    this.#inLine.add(ref.batchId);
    this.#lines.push(ref);
    return true;
  }

  /** At most `max`, and only what there is room for. */
  take(max: number, room: Admission, hideUntil: number, now: number): { readonly ref: T; readonly receipt: string }[] {
    this.wake(now);
    const taken: { readonly ref: T; readonly receipt: string }[] = [];
    while (taken.length < max) {
      const ref = this.#lines.next((jobId) => room.admits(jobId));
      if (ref === undefined) break;
      room.enter(ref.jobId);
      this.#inLine.delete(ref.batchId);
      this.#deliveries += 1;
      const receipt = `${this.#name}#${this.#deliveries}`;
      this.#hidden.set(receipt, { ref, until: hideUntil, alarmAt: hideUntil });
      this.#setAlarm({ at: hideUntil, receipt });
      taken.push({ ref, receipt });
    }
    return taken;
  }

  extend(receipts: readonly string[], hideUntil: number): void {
    for (const receipt of receipts) {
      const hidden = this.#hidden.get(receipt);
      if (hidden === undefined) continue;
      hidden.until = hideUntil;
      // A later time needs no new alarm: the old one is moved when it goes off.
      if (hideUntil >= hidden.alarmAt) continue;
      hidden.alarmAt = hideUntil;
      this.#setAlarm({ at: hideUntil, receipt });
    }
  }

  ack(receipts: readonly string[]): void {
    for (const receipt of receipts) this.#hidden.delete(receipt);
    this.#forgetOldAlarms();
  }

  giveBack(receipts: readonly string[]): void {
    for (const receipt of receipts) this.#comeBack(receipt);
    this.#forgetOldAlarms();
  }

  /** Puts deliveries that are no longer hidden back into the line. Returns how many there were. */
  wake(now: number): number {
    let woken = 0;
    for (let at = this.wakeAt(); at !== null && at <= now; at = this.wakeAt()) {
      const alarm = popAlarm(this.#alarms);
      if (alarm !== undefined && this.#comeBack(alarm.receipt)) woken += 1;
    }
    return woken;
  }

  /** When the next hidden delivery becomes visible; null if there is none. */
  wakeAt(): number | null {
    for (let next = this.#alarms[0]; next !== undefined; next = this.#alarms[0]) {
      const hidden = this.#hidden.get(next.receipt);
      if (hidden !== undefined && hidden.alarmAt === next.at && hidden.until === next.at) return next.at;
      popAlarm(this.#alarms);
      if (hidden === undefined || hidden.alarmAt !== next.at) continue;
      hidden.alarmAt = hidden.until;
      this.#setAlarm({ at: hidden.until, receipt: next.receipt });
    }
    return null;
  }

  #comeBack(receipt: string): boolean {
    const hidden = this.#hidden.get(receipt);
    if (hidden === undefined) return false;
    this.#hidden.delete(receipt);
    this.put(hidden.ref);
    return true;
  }

  #setAlarm(alarm: Alarm): void {
    pushAlarm(this.#alarms, alarm);
  }

  /** Most messages are acknowledged long before their alarm, and minutes of dead alarms would add up. */
  #forgetOldAlarms(): void {
    if (this.#alarms.length < 1024 || this.#alarms.length < 4 * this.#hidden.size) return;
    this.#alarms = [];
    for (const [receipt, hidden] of this.#hidden) {
      hidden.alarmAt = hidden.until;
      this.#setAlarm({ at: hidden.until, receipt });
    }
  }
}

interface MailRef {
  readonly jobId: string;
  readonly batchId: string;
}

interface Hidden<T> {
  readonly ref: T;
  until: number;
  /** When it will be looked at: never after `until`. */
  alarmAt: number;
}

interface Alarm {
  readonly at: number;
  readonly receipt: string;
}

/** A line per job that has something waiting, in the order of their turns. */
class JobLines<T extends MailRef> {
  readonly #lines = new Map<string, Line<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(ref: T): void {
    const line = this.#lines.get(ref.jobId) ?? new Line<T>();
    if (line.size === 0) this.#lines.set(ref.jobId, line);
    line.push(ref);
    this.#size += 1;
  }

  /** Takes from the first admitted job in turn; its next turn comes after all others. A job not admitted keeps its turn. */
  next(admits: (jobId: string) => boolean): T | undefined {
    for (const [jobId, line] of this.#lines) {
      if (!admits(jobId)) continue;
      const ref = line.shift();
      this.#size -= 1;
      const isAlone = this.#lines.size === 1;
      if (line.size === 0) this.#lines.delete(jobId);
      else if (!isAlone) {
        this.#lines.delete(jobId);
        this.#lines.set(jobId, line);
      }
      return ref;
    }
    return undefined;
  }
}

/** First in, first out, without moving what is left at every step as `Array.shift` does. */
class Line<T> {
  #entries: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#entries.length - this.#head;
  }

  push(entry: T): void {
    this.#entries.push(entry);
  }

  shift(): T | undefined {
    const first = this.#entries[this.#head];
    if (first === undefined) return undefined;
    this.#entries[this.#head] = undefined;
    this.#head += 1;
    if (this.#head * 2 >= this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    return first;
  }
}

/** A binary heap, earliest first. */
function pushAlarm(heap: Alarm[], alarm: Alarm): void {
  let place = heap.length;
  heap.push(alarm);
  while (place > 0) {
    const above = (place - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || parent.at <= alarm.at) break;
    heap[place] = parent;
    place = above;
  }
  heap[place] = alarm;
}

function popAlarm(heap: Alarm[]): Alarm | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let place = 0;
  for (;;) {
    const left = heap[2 * place + 1];
    const right = heap[2 * place + 2];
    const isRight = left !== undefined && right !== undefined && right.at < left.at;
    const child = isRight ? right : left;
    if (child === undefined || child.at >= last.at) break;
    heap[place] = child;
    place = 2 * place + (isRight ? 2 : 1);
  }
  heap[place] = last;
  return first;
}
