import { after } from 'node:test';
import { openSqsQueue } from '../../src/adapters/aws/work-queue.ts';
import type { WorkQueue } from '../../src/ports/work-queue.ts';
import { startSqsInTime } from '../support/aws/sqs-in-time.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { workQueueContract } from './work-queue-contract.ts';

const emulator = await startSqsInTime();
after(() => emulator.stop());

workQueueContract('SQS', open, {
  exempt: {
    'jobs take turns: one that has little to do does not wait for one that has much':
      'a standard queue promises no order; that SQS prefers groups with few messages in flight is known by AWS alone',
  },
});

async function open() {
  const { sqs, close } = emulator.clients();
  // This clock does not move: SQS itself decides how long a message is hidden, and the emulator uses another clock.
  const sqsQueue = openSqsQueue({ sqs, queueUrls: await emulator.createQueues(), clock: new FakeClock() });
  const queue: WorkQueue = {
    send: (refs) => sqsQueue.send(refs),
    receive: (lane, room, hideMs, signal) => sqsQueue.receive(lane, room, hideMs, signal),
    extend: (receipts, hideMs) => sqsQueue.extend(receipts, hideMs),
    ack: (receipts) => sqsQueue.ack(receipts),
    giveBack: (receipts) => sqsQueue.giveBack(receipts),
    async depth() {
      // Requests overtake each other. A receive call made before this one has its answer once the first returns.
      await sqsQueue.depth();
      return sqsQueue.depth();
    },
  };
  return { queue, advance: async (ms: number) => emulator.advance(ms), close };
}
