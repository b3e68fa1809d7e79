import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Mailbox } from '../../src/adapters/embedded/queue/mailbox.ts';
import { Admission } from '../../src/domain/slot-share.ts';
import { roomForAnyJob } from '../support/room.ts';

type Ref = { readonly jobId: string; readonly batchId: string };
const ref = (batchId: string | number, jobId = 'job'): Ref => ({ jobId, batchId: `batch-${batchId}` });
const anyJob = () => new Admission(roomForAnyJob(100));

function filled(...ids: readonly (string | number)[]): Mailbox<Ref> {
  const mailbox = new Mailbox<Ref>('http');
  for (const id of ids) mailbox.put(ref(id));
  return mailbox;
}

const batchesOf = (taken: readonly { ref: Ref }[]) => taken.map((delivery) => delivery.ref.batchId);
const receiptsOf = (taken: readonly { receipt: string }[]) => taken.map((delivery) => delivery.receipt);

test('messages come out in the order in which they went in, no more than asked for', () => {
  const mailbox = filled(1, 2, 3);
  assert.deepEqual(batchesOf(mailbox.take(2, anyJob(), 100, 0)), ['batch-1', 'batch-2']);
  assert.deepEqual(batchesOf(mailbox.take(2, anyJob(), 100, 0)), ['batch-3']);
  assert.deepEqual(mailbox.take(2, anyJob(), 100, 0), []);
  assert.deepEqual([mailbox.waiting, mailbox.delivered], [0, 3]);
});

test('a batch that waits already is not put in a second time; one that is out may be', () => {
  const mailbox = filled(1);
  assert.equal(mailbox.put(ref(1)), false);
  mailbox.take(1, anyJob(), 100, 0);
  assert.equal(mailbox.put(ref(1)), true);
  assert.equal(mailbox.waiting, 1);
});

test('what is not acknowledged in time is delivered again, under another receipt', () => {
  const mailbox = filled(1);
  const [first] = mailbox.take(1, anyJob(), 100, 0);
  assert.deepEqual(mailbox.take(1, anyJob(), 200, 99), []);
  const [second] = mailbox.take(1, anyJob(), 200, 100);
  assert.deepEqual(second?.ref, first?.ref);
  assert.notEqual(second?.receipt, first?.receipt);
});

test('what is acknowledged is gone', () => {
  const mailbox = filled(1);
  mailbox.ack(receiptsOf(mailbox.take(1, anyJob(), 100, 0)));
  assert.deepEqual(mailbox.take(1, anyJob(), 9999, 9999), []);
  assert.equal(mailbox.wakeAt(), null);
});

test('an old receipt says nothing about a later delivery', () => {
  const mailbox = filled(1);
  const old = receiptsOf(mailbox.take(1, anyJob(), 100, 0));
  const current = mailbox.take(1, anyJob(), 300, 100);
  mailbox.ack(old);
  mailbox.giveBack(old);
  mailbox.extend(old, 9999);
  assert.equal(mailbox.wakeAt(), 300);
  assert.deepEqual(batchesOf(mailbox.take(1, anyJob(), 900, 300)), batchesOf(current));
});

test('what is given back waits at the end of the line at once', () => {
  const mailbox = filled(1, 2);
  mailbox.giveBack(receiptsOf(mailbox.take(1, anyJob(), 100, 0)));
  assert.deepEqual(batchesOf(mailbox.take(2, anyJob(), 100, 0)), ['batch-2', 'batch-1']);
});

test('a delivery can be hidden for longer and for shorter', () => {
  const mailbox = filled(1);
  const receipts = receiptsOf(mailbox.take(1, anyJob(), 100, 0));
  mailbox.extend(receipts, 500);
  assert.equal(mailbox.wake(499), 0);
  assert.equal(mailbox.wakeAt(), 500);
  mailbox.extend(receipts, 50);
  assert.equal(mailbox.wakeAt(), 50);
  assert.equal(mailbox.wake(50), 1);
  assert.equal(mailbox.waiting, 1);
});

test('a batch that comes back while it waits already waits once', () => {
  const mailbox = filled(1);
  const receipts = receiptsOf(mailbox.take(1, anyJob(), 100, 0));
  mailbox.put(ref(1));
  mailbox.giveBack(receipts);
  assert.equal(mailbox.waiting, 1);
});

test('thousands of messages that were acknowledged do not hide the one that was not', () => {
  const mailbox = filled('slow');
  mailbox.take(1, anyJob(), 50_000, 0);
  for (let i = 0; i < 5000; i += 1) {
    mailbox.put(ref(i));
    mailbox.ack(receiptsOf(mailbox.take(1, anyJob(), i + 1000, i)));
  }
  assert.deepEqual([mailbox.waiting, mailbox.delivered, mailbox.wakeAt()], [0, 1, 50_000]);
  assert.deepEqual(batchesOf(mailbox.take(5, anyJob(), 99_999, 50_000)), ['batch-slow']);
});

/** The same in its simplest form: a list of groups that may come out in any order, and a table of what is hidden. */
class Model {
  line: Set<string>[] = [];
  hidden = new Map<string, { batchId: string; until: number }>();

  has(batchId: string): boolean {
    return this.line.some((group) => group.has(batchId));
  }

  put(batchId: string): boolean {
    if (this.has(batchId)) return false;
    this.line.push(new Set([batchId]));
    return true;
  }

  wake(now: number): number {
    const due = [...this.hidden].filter(([, { until }]) => until <= now);
    const times = [...new Set(due.map(([, { until }]) => until))].sort((a, b) => a - b);
    for (const time of times) {
      const together = due.filter(([, { until }]) => until === time).map(([, { batchId }]) => batchId);
      this.line.push(new Set(together.filter((batchId) => !this.has(batchId))));
    }
    for (const [receipt] of due) this.hidden.delete(receipt);
    return due.length;
  }

  /** Takes a batch out if it could be the next one. */
  isNext(batchId: string): boolean {
    this.line = this.line.filter((group) => group.size > 0);
    return this.line[0]?.delete(batchId) ?? false;
  }

  get waiting(): number {
    return this.line.reduce((sum, group) => sum + group.size, 0);
  }
}

const anyCommand = fc.oneof(
  fc.record({ do: fc.constant('put' as const), batch: fc.nat(6) }),
  fc.record({ do: fc.constant('take' as const), max: fc.integer({ min: 0, max: 3 }), hideMs: fc.nat(30) }),
  fc.record({ do: fc.constantFrom('ack' as const, 'giveBack' as const), pick: fc.nat(20) }),
  fc.record({ do: fc.constant('extend' as const), pick: fc.nat(20), hideMs: fc.nat(60) }),
  fc.record({ do: fc.constant('wake' as const), afterMs: fc.integer({ min: -10, max: 40 }) }),
);

test('jobs take turns, and within a job the oldest comes first', () => {
  const mailbox = filled(1, 2, 3);
  for (const id of ['a', 'b']) mailbox.put(ref(id, 'other'));
  mailbox.put(ref('x', 'third'));
  const order = ['batch-1', 'batch-a', 'batch-x', 'batch-2', 'batch-b', 'batch-3'];
  assert.deepEqual(batchesOf(mailbox.take(2, anyJob(), 100, 0)), order.slice(0, 2));
  assert.deepEqual(batchesOf(mailbox.take(9, anyJob(), 100, 0)), order.slice(2));
});

test('a message that there is no room for is left, and its job keeps its turn', () => {
  const mailbox = filled(1, 2);
  mailbox.put(ref('a', 'other'));
  mailbox.put(ref('b', 'other'));
  const full = new Admission({ most: 10, freeSlots: 3, freePlaces: 9, jobs: [['job', 3, 3]] });
  assert.deepEqual(batchesOf(mailbox.take(1, full, 100, 0)), ['batch-a']);
  assert.equal(mailbox.waiting, 3);
  assert.deepEqual(batchesOf(mailbox.take(9, anyJob(), 100, 0)), ['batch-1', 'batch-b', 'batch-2']);
});

test('whatever is sent, taken, extended, given back or forgotten, it does what a plain list would', () => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 80, size: 'max' }), (commands) => {
      const mailbox = new Mailbox<Ref>('http');
      const model = new Model();
      const receipts: string[] = ['http#unknown'];
      let now = 1000;
      for (const command of commands) {
        switch (command.do) {
          case 'put':
            assert.equal(mailbox.put(ref(command.batch)), model.put(ref(command.batch).batchId));
            break;
          case 'take': {
            model.wake(now);
            const expected = Math.min(command.max, model.waiting);
            const taken = mailbox.take(command.max, anyJob(), now + command.hideMs, now);
            assert.equal(taken.length, expected);
            for (const { ref: got, receipt } of taken) {
              assert.ok(model.isNext(got.batchId), `${got.batchId} is not next`);
              assert.ok(!receipts.includes(receipt));
              receipts.push(receipt);
              model.hidden.set(receipt, { batchId: got.batchId, until: now + command.hideMs });
            }
            break;
          }
          case 'ack':
          case 'giveBack': {
            const receipt = receipts[command.pick % receipts.length] ?? '';
            mailbox[command.do]([receipt]);
            const known = model.hidden.get(receipt);
            model.hidden.delete(receipt);
            if (known && command.do === 'giveBack') model.put(known.batchId);
            break;
          }
          case 'extend': {
            const receipt = receipts[command.pick % receipts.length] ?? '';
            mailbox.extend([receipt], now + command.hideMs);
            const known = model.hidden.get(receipt);
            if (known) known.until = now + command.hideMs;
            break;
          }
          case 'wake':
            now += command.afterMs;
            assert.equal(mailbox.wake(now), model.wake(now));
        }
        assert.equal(mailbox.waiting, model.waiting);
        assert.equal(mailbox.delivered, model.hidden.size);
        const next = Math.min(...[...model.hidden.values()].map(({ until }) => until));
        assert.equal(mailbox.wakeAt(), model.hidden.size === 0 ? null : next);
      }
    }),
    { numRuns: 500 },
  );
});
