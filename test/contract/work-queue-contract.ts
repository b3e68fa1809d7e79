import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ChangingRoom } from '../../src/domain/changing-room.ts';
import type { Lane } from '../../src/domain/lane.ts';
import type { Room } from '../../src/domain/slot-share.ts';
import type { BatchRef, Delivery, WorkQueue } from '../../src/ports/work-queue.ts';
import { roomFor, roomForAnyJob } from '../support/room.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface QueueParts {
  readonly queue: WorkQueue;
  /** Lets this much of the queue's time pass, and everything due in that time happen. */
  advance(ms: number): Promise<void>;
}

const HIDE_MS = 10_000;

/** Everything that the comments of `ports/work-queue.ts` promise. `open` makes a queue without messages. */
export function workQueueContract(
  name: string,
  open: () => Promise<Opened<QueueParts>>,
  options: SuiteOptions = {},
): void {
  suite<QueueParts>(`work queue on ${name}`, open, options, (add) => {
    add('what is sent is delivered, and only once unless it is given back', async ({ queue }) => {
      assert.deepEqual(await queue.send(refs('a', 'b')), { refused: [] });
      const deliveries = await take(queue, { max: 10 });
      assert.deepEqual(new Set(deliveries.map(({ ref }) => ref)), new Set(refs('a', 'b')));
      assert.equal(new Set(deliveries.map(({ receipt }) => receipt)).size, 2);
      assert.deepEqual(await look(queue), []);
    });

    add('delivers oldest first', async ({ queue }) => {
      await queue.send(refs('a', 'b'));
      await queue.send(refs('c'));
      assert.deepEqual(idsOf(await take(queue, { max: 10 })), ['a', 'b', 'c']);
    });

    add('jobs take turns: one that has little to do does not wait for one that has much', async ({ queue }) => {
      await queue.send([...refs('a', 'b', 'c', 'd'), ...refsOf('job-2', 'x', 'y')]);
      assert.deepEqual(idsOf(await take(queue, { max: 4 })), ['a', 'x', 'b', 'y']);
    });

    add(
      'what a receiver has no room for is left to others, and what it has room for comes',
      async ({ queue, advance }) => {
        await queue.send([...refs('a', 'b'), ...refsOf('job-2', 'x')]);
        const room = new ChangingRoom(roomWithout('job-1'));
        assert.deepEqual(idsOf(await queue.receive('http', room, HIDE_MS, new AbortController().signal)), ['x']);
        // As long as a queue that cannot choose may keep what it had to pass over.
        await advance(HIDE_MS - 1000);
        assert.deepEqual(idsOf(await take(queue, { max: 10 })).sort(), ['a', 'b']);
      },
    );

    add('a receiver whose room grows while it waits gets what it had none for', async ({ queue, advance }) => {
      await queue.send(refs('a'));
      const room = new ChangingRoom(roomWithout('job-1'));
      let isThere = false;
      const waiting = queue.receive('http', room, HIDE_MS, new AbortController().signal).then((deliveries) => {
        isThere = true;
        return deliveries;
      });
      await advance(100);
      assert.equal(isThere, false);
      room.change(roomForAnyJob(10));
      assert.deepEqual(idsOf(await waiting), ['a']);
      assert.deepEqual(await look(queue), []);
    });

    add('a receiver gets no more than it asked for', async ({ queue }) => {
      await queue.send(refs('a', 'b', 'c'));
      assert.equal((await take(queue, { max: 2 })).length, 2);
      assert.equal((await take(queue, { max: 2 })).length, 1);
    });

    add('lanes do not mix', async ({ queue }) => {
      await queue.send([...refs('a'), ...refs('b', 'browser')]);
      assert.deepEqual(idsOf(await take(queue, { lane: 'browser', max: 10 })), ['b']);
      assert.deepEqual(idsOf(await take(queue, { max: 10 })), ['a']);
    });

    add('a receiver waits for as long as it takes', async ({ queue, advance }) => {
      const waiting = take(queue);
      await advance(5 * HIDE_MS);
      await queue.send(refs('a'));
      assert.deepEqual(idsOf(await waiting), ['a']);
    });

    add('when several receivers wait, each message goes to one of them', async ({ queue }) => {
      const stop = new AbortController();
      const waiting = [1, 2, 3].map(() => queue.receive('http', roomFor(1), HIDE_MS, stop.signal));
      await queue.send(refs('a', 'b'));
      await Promise.all([Promise.race(waiting), queue.depth()]);
      await queue.send(refs('c'));
      assert.deepEqual((await Promise.all(waiting)).flatMap(idsOf).sort(), ['a', 'b', 'c']);
      stop.abort();
    });

    add('a receiver that is asked to stop gets nothing, and takes nothing with it', async ({ queue, advance }) => {
      const stop = new AbortController();
      const waiting = queue.receive('http', roomFor(1), HIDE_MS, stop.signal);
      await advance(1);
      stop.abort();
      assert.deepEqual(await waiting, []);
      await queue.send(refs('a'));
      assert.deepEqual(await queue.receive('http', roomFor(1), HIDE_MS, stop.signal), []);
      assert.deepEqual(idsOf(await take(queue)), ['a']);
    });

    add('what is not acknowledged is delivered again when its time is over, under another receipt', async (parts) => {
      const { queue, advance } = parts;
      await queue.send(refs('a'));
      const [first] = await take(queue);
      await advance(HIDE_MS - 1000);
      assert.deepEqual(await look(queue), []);
      await advance(1000);
      const [second] = await take(queue);
      assert.deepEqual(second?.ref, first?.ref);
      assert.notEqual(second?.receipt, first?.receipt);
    });

    add('a receiver that is already waiting gets what was hidden when its time is over', async ({ queue, advance }) => {
      // The second waits before anything is hidden.
      const first = take(queue);
      const second = take(queue);
      await queue.send(refs('a'));
      assert.deepEqual(idsOf(await Promise.race([first, second])), ['a']);
      await advance(HIDE_MS);
      assert.deepEqual((await Promise.all([first, second])).flatMap(idsOf), ['a', 'a']);
    });

    add(
      'a receiver that arrives while a message is hidden gets it when its time is over',
      async ({ queue, advance }) => {
        await queue.send(refs('a'));
        await take(queue);
        const waiting = take(queue);
        await advance(HIDE_MS);
        assert.deepEqual(idsOf(await waiting), ['a']);
      },
    );

    add('what is acknowledged does not come again', async ({ queue, advance }) => {
      await queue.send(refs('a', 'b'));
      const deliveries = await take(queue, { max: 2 });
      await queue.ack(receiptsOf(deliveries, 'a'));
      await advance(HIDE_MS);
      assert.deepEqual(idsOf(await take(queue, { max: 10 })), ['b']);
      await advance(HIDE_MS);
      assert.deepEqual(idsOf(await take(queue, { max: 10 })), ['b']);
    });

    add('a message may be sent again after it was acknowledged', async ({ queue }) => {
      await queue.send(refs('a'));
      await queue.ack(receiptsOf(await take(queue), 'a'));
      await queue.send(refs('a'));
      assert.deepEqual(idsOf(await take(queue)), ['a']);
    });

    add(
      'what is given back is available at once, even to a receiver that is already waiting',
      async ({ queue, advance }) => {
        await queue.send(refs('a'));
        const [first] = await take(queue);
        assert.ok(first);
        await queue.giveBack([first.receipt]);
        const second = await take(queue);
        assert.deepEqual(idsOf(second), ['a']);
        const waiting = take(queue);
        await advance(1);
        await queue.giveBack(receiptsOf(second, 'a'));
        assert.deepEqual(idsOf(await waiting), ['a']);
      },
    );

    add('an extended delivery stays hidden for that long from now, longer or shorter', async ({ queue, advance }) => {
      await queue.send(refs('a', 'b'));
      const deliveries = await take(queue, { max: 2 });
      await advance(HIDE_MS - 2000);
      await queue.extend(receiptsOf(deliveries, 'a'), 5000);
      await queue.extend(receiptsOf(deliveries, 'b'), 1000);
      await advance(1000);
      assert.deepEqual(idsOf(await take(queue, { max: 10, hideMs: 60_000 })), ['b']);
      await advance(3000);
      assert.deepEqual(await look(queue), []);
      await advance(1000);
      assert.deepEqual(idsOf(await take(queue, { max: 10 })), ['a']);
    });

    add('a delivery that is hidden for less time comes before one that is hidden for longer', async (parts) => {
      const { queue, advance } = parts;
      await queue.send(refs('a', 'b'));
      await take(queue, { hideMs: 5000 });
      const second = await take(queue);
      await queue.extend(
        second.map(({ receipt }) => receipt),
        1000,
      );
      await advance(1000);
      assert.deepEqual(await look(queue), idsOf(second));
    });

    add('a delivery that is hidden for less time wakes a waiting receiver', async ({ queue, advance }) => {
      await queue.send(refs('a'));
      const deliveries = await take(queue);
      const waiting = take(queue);
      await advance(1);
      await queue.extend(receiptsOf(deliveries, 'a'), 2000);
      await advance(2000);
      assert.deepEqual(idsOf(await waiting), ['a']);
    });

    add('receipts that are no longer good are passed over', async ({ queue, advance }) => {
      await queue.send(refs('a'));
      const [old] = await take(queue);
      assert.ok(old);
      await advance(HIDE_MS);
      const [current] = await take(queue);
      assert.ok(current);
      await queue.extend([old.receipt, 'no-such-receipt'], 10 * HIDE_MS);
      await queue.giveBack([old.receipt, 'no-such-receipt']);
      await queue.ack([old.receipt, 'no-such-receipt']);
      assert.deepEqual(await look(queue), []);
      await advance(HIDE_MS);
      assert.deepEqual(idsOf(await take(queue)), ['a']);
      await queue.ack([current.receipt]);
      await advance(HIDE_MS);
      assert.deepEqual(idsOf(await take(queue)), ['a']);
    });

    add('the depth of each lane says what is waiting and what is out', async ({ queue, advance }) => {
      await queue.send([...refs('a', 'b', 'c'), ...refs('d', 'browser')]);
      const deliveries = await take(queue, { max: 2 });
      const depth = async (lane: Lane) => (await queue.depth()).find((one) => one.lane === lane);
      assert.deepEqual(await depth('http'), { lane: 'http', waiting: 1, delivered: 2 });
      assert.deepEqual(await depth('browser'), { lane: 'browser', waiting: 1, delivered: 0 });
      await queue.ack(receiptsOf(deliveries, 'a'));
      assert.deepEqual(await depth('http'), { lane: 'http', waiting: 1, delivered: 1 });
      await advance(HIDE_MS);
      assert.deepEqual(await depth('http'), { lane: 'http', waiting: 2, delivered: 0 });
    });

    add('whatever happens, no message is lost before it is acknowledged, and none comes after', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyMove, { maxLength: 60 }), async (moves) => {
          const parts = await open();
          try {
            await playMoves(parts, moves);
          } finally {
            await parts.close();
          }
        }),
        { numRuns: 60 },
      );
    });
  });
}

type Move =
  | { readonly kind: 'send' }
  | { readonly kind: 'take'; readonly max: number }
  | { readonly kind: 'ack' | 'giveBack' | 'extend'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number };

const anyMove: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ kind: fc.constant('send' as const) }),
  fc.record({ kind: fc.constant('take' as const), max: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constantFrom('ack' as const, 'giveBack' as const, 'extend' as const), which: fc.nat(50) }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: HIDE_MS }) }),
);

/** Keeps a list of what was sent and not yet acknowledged by a receipt that was good, and in the end looks for it. */
async function playMoves({ queue, advance }: QueueParts, moves: readonly Move[]): Promise<void> {
  let now = 0;
  let sent = 0;
  const open = new Set<string>();
  const out = new Map<string, { readonly batchId: string; hiddenUntil: number }>();
  const deliveries: Delivery[] = [];
  const isHidden = (batchId: string) =>
    [...out.values()].some((one) => one.batchId === batchId && one.hiddenUntil > now);
  for (const move of moves) {
    if (move.kind === 'send') {
      sent += 1;
      open.add(`m${sent}`);
      await queue.send(refs(`m${sent}`));
    } else if (move.kind === 'pass') {
      await advance(move.ms);
      now += move.ms;
    } else if (move.kind === 'take') {
      if (![...open].some((batchId) => !isHidden(batchId))) continue;
      for (const delivery of await take(queue, { max: move.max })) {
        const { batchId } = delivery.ref;
        assert.ok(open.has(batchId), `${batchId} was acknowledged, and came again`);
        assert.ok(!isHidden(batchId), `${batchId} is hidden, and came again`);
        out.set(delivery.receipt, { batchId, hiddenUntil: now + HIDE_MS });
        deliveries.push(delivery);
      }
    } else {
      const delivery = deliveries[move.which % Math.max(1, deliveries.length)];
      const known = delivery === undefined ? undefined : out.get(delivery.receipt);
      if (delivery === undefined || known === undefined) continue;
      const isGood = known.hiddenUntil > now;
      const later = deliveries.slice(deliveries.indexOf(delivery) + 1);
      const isStale = later.some(({ ref }) => ref.batchId === known.batchId) || !open.has(known.batchId);
      // Between the two, when its time is over but it has not been delivered again, a receipt may be good or not.
      if (!isGood && !isStale) continue;
      if (move.kind === 'extend') await queue.extend([delivery.receipt], HIDE_MS);
      else await queue[move.kind]([delivery.receipt]);
      if (!isGood) continue;
      if (move.kind === 'ack') open.delete(known.batchId);
      known.hiddenUntil = move.kind === 'extend' ? now + HIDE_MS : now;
    }
  }
  await advance(HIDE_MS);
  const left = open.size === 0 ? [] : await take(queue, { max: 1000 });
  assert.deepEqual(idsOf(left).sort(), [...open].sort());
}

/** Has room for any job but one. */
function roomWithout(jobId: string): Room {
  return { most: 10, freeSlots: 4, freePlaces: 10, jobs: [[jobId, 4, 4]] };
}

function refsOf(jobId: string, ...batchIds: readonly string[]): BatchRef[] {
  return batchIds.map((batchId) => ({ jobId, batchId, lane: 'http' }));
}

function refs(...names: readonly (string | Lane)[]): BatchRef[] {
  const lane: Lane = names.includes('browser') ? 'browser' : 'http';
  const ids = names.filter((name) => name !== 'browser');
  return ids.map((batchId) => ({ jobId: 'job-1', batchId, lane }));
}

/** Waits for at least one. */
function take(
  queue: WorkQueue,
  { lane = 'http', max = 1, hideMs = HIDE_MS }: { lane?: Lane; max?: number; hideMs?: number } = {},
): Promise<readonly Delivery[]> {
  return queue.receive(lane, roomFor(max), hideMs, new AbortController().signal);
}

/** Looks whether there is something, and does not wait for it. */
async function look(queue: WorkQueue): Promise<string[]> {
  const stop = new AbortController();
  const looking = queue.receive('http', roomFor(10), HIDE_MS, stop.signal);
  await queue.depth();
  stop.abort();
  return idsOf(await looking);
}

function idsOf(deliveries: readonly Delivery[]): string[] {
  return deliveries.map(({ ref }) => ref.batchId);
}

function receiptsOf(deliveries: readonly Delivery[], batchId: string): string[] {
  return deliveries.filter(({ ref }) => ref.batchId === batchId).map(({ receipt }) => receipt);
}
