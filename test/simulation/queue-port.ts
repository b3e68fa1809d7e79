import type { BatchRef, WorkerQueue, WorkQueue } from '../../src/ports/work-queue.ts';
import { SimFault } from './network.ts';
import { showDeliveries, showRefs, showRoom } from './show.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

/** The queue as one process sees it: messages get lost, doubled, late and out of order, and a send may fail in parts. */
export function queueFor(process: SimProcess, sim: Sim): WorkQueue {
  return { ...workerQueueFor(process, sim), send: (refs) => send(process, sim, refs), depth: async () => [] };
}

export function workerQueueFor(process: SimProcess, sim: Sim): WorkerQueue {
  const { backend, oracle, faults, network } = sim;
  const common = { callee: backend };
  return {
    receive(lane, room, hideMs, signal) {
      const isLost = faults.strikes('receive-lost', 0.3);
      // A dead receiver is still in the queue of receivers, unless its connection was cut.
      const line = new AbortController();
      const leave = () => line.abort();
      signal.addEventListener('abort', leave, { once: true });
      if (sim.dice.happens(0.5)) process.onEnd(leave);
      return network.call(process, {
        ...common,
        name: 'receive',
        said: showRoom(room.now()),
        run: async () => {
          const taken = await backend.during(() => backend.queue.receive(lane, room, hideMs, line.signal));
          signal.removeEventListener('abort', leave);
          oracle.delivered(taken);
          if (!isLost || signal.aborted) return taken;
          throw new SimFault('receive: no answer');
        },
        show: showDeliveries,
      });
    },
    extend: (receipts, hideMs) =>
      network.call(process, {
        ...common,
        name: 'extend',
        said: receipts.join(','),
        run: async () => {
          if (!faults.strikes('extend-lost', 3)) await backend.queue.extend(receipts, hideMs);
        },
        show: () => '',
      }),
    ack: (receipts) =>
      network.call(process, {
        ...common,
        name: 'ack',
        said: receipts.join(','),
        run: async () => {
          oracle.acknowledged(process, receipts);
          if (!faults.strikes('ack-lost')) await backend.queue.ack(receipts);
        },
        show: () => '',
      }),
    giveBack: (receipts) =>
      network.call(process, {
        ...common,
        name: 'giveBack',
        said: receipts.join(','),
        run: () => backend.queue.giveBack(receipts),
        show: () => '',
      }),
  };
}

async function send(process: SimProcess, sim: Sim, refs: readonly BatchRef[]) {
  const { faults, network, backend } = sim;
  const answer = await network.call(process, {
    name: 'send',
    said: showRefs(refs),
    callee: backend,
    run: async () => {
      if (faults.strikes('send-error')) throw new SimFault('send: the queue does not answer');
      const refused = refs.filter(() => faults.strikes('send-refused'));
      const taken = refs.filter((ref) => !refused.includes(ref));
      const ordered = taken.length > 1 && faults.strikes('message-reordered', 5) ? sim.dice.shuffled(taken) : taken;
      for (const ref of ordered) carry(sim, ref);
      return { refused };
    },
    show: ({ refused }) => `refused ${showRefs(refused)}`,
  });
  if (answer.refused.length > 0) mustTakeBack(process, sim, answer.refused);
  return answer;
}

/** A process that learns that messages were refused takes their batches back, unless something else happens to it. */
function mustTakeBack(process: SimProcess, { timeline, oracle, disk }: Sim, refused: readonly BatchRef[]): void {
  const heardAt = timeline.now;
  timeline.after(TIME_TO_TAKE_BACK_MS, () => {
    const isHindered = process.isOver || process.wrongedAt >= heardAt || disk.wasFullAt >= heardAt;
    if (!isHindered) oracle.notQueued(refused);
  });
}

const TIME_TO_TAKE_BACK_MS = 1000;

/** How one message arrives: at once in most cases, later, twice, or never. */
function carry({ faults, timeline, dice, backend }: Sim, ref: BatchRef): void {
  const put = () => {
    if (!backend.isAway) void backend.queue.send([ref]);
  };
  if (faults.strikes('message-lost')) return;
  if (faults.strikes('message-late')) timeline.after(dice.logBetween(10, 15_000), put);
  else put();
  if (faults.strikes('message-duplicated')) timeline.after(dice.logBetween(1, 15_000), put);
}
