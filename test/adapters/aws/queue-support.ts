import { after } from 'node:test';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { openSqsQueue, type SqsWorkQueue } from '../../../src/adapters/aws/work-queue.ts';
import type { Lane } from '../../../src/domain/lane.ts';
import type { BatchRef, Delivery } from '../../../src/ports/work-queue.ts';
import type { SqsInTime } from '../../support/aws/sqs-in-time.ts';
import { FakeClock } from '../../support/fake-clock.ts';

export const HIDE_MS = 10_000;
export const NEVER = new AbortController().signal;

export type Operation =
  | 'SendMessageBatchCommand'
  | 'ReceiveMessageCommand'
  | 'DeleteMessageBatchCommand'
  | 'ChangeMessageVisibilityBatchCommand'
  | 'GetQueueAttributesCommand';

/** A call as the queue makes it: its input, and how to let it go on to SQS. */
export interface Call {
  readonly input: Record<string, unknown>;
  go(input?: Record<string, unknown>): Promise<Record<string, unknown>>;
}

export type Meddler = (call: Call) => Promise<Record<string, unknown>>;

export interface Opened {
  readonly clock: FakeClock;
  readonly sqs: SQSClient;
  readonly queue: SqsWorkQueue;
  readonly queueUrls: Record<Lane, string>;
  /** Where each trouble was, and what it says. */
  readonly troubles: string[];
  /** Inputs of all calls so far, by operation. */
  calls(operation: Operation): readonly Record<string, unknown>[];
  /** From now on this one answers calls of the operation. */
  meddle(operation: Operation, meddler: Meddler): void;
}

/** A queue on empty SQS queues of its own, and a way to interfere between it and the SDK. */
export async function openQueue(emulator: SqsInTime, options: { readonly maxReceives?: number } = {}): Promise<Opened> {
  const clients = emulator.clients();
  after(() => clients.close());
  const clock = new FakeClock();
  const queueUrls = await emulator.createQueues(options);
  const made = new Map<string, Record<string, unknown>[]>();
  const meddlers = new Map<string, Meddler>();
  clients.sqs.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const input = args.input as Record<string, unknown>;
        made.set(commandName, [...(made.get(commandName) ?? []), input]);
        const meddler = meddlers.get(commandName);
        if (meddler === undefined) return next(args);
        const go: Call['go'] = async (changed = input) =>
          (await next({ ...args, input: changed })).output as unknown as Record<string, unknown>;
        const output = { $metadata: {}, ...(await meddler({ input, go })) };
        return { output, response: {} } as unknown as Awaited<ReturnType<typeof next>>;
      },
    { step: 'initialize', priority: 'high' },
  );
  const troubles: string[] = [];
  const onTrouble = (where: string, error: unknown) => troubles.push(`${where}: ${(error as Error).message}`);
  return {
    ...{ clock, queueUrls, troubles, sqs: clients.sqs },
    queue: openSqsQueue({ sqs: clients.sqs, queueUrls, clock, onTrouble }),
    calls: (operation) => made.get(operation) ?? [],
    meddle: (operation, meddler) => void meddlers.set(operation, meddler),
  };
}

interface Entry {
  readonly Id: string;
}

export function entriesOf<T extends object>({ Entries }: Record<string, unknown>): readonly (Entry & T)[] {
  return Entries as readonly (Entry & T)[];
}

export interface Fault {
  readonly Code: string;
  readonly SenderFault: boolean;
}

/** Entries for which there is a fault do not reach SQS, and are answered as failed. */
export function failEntries<T extends object>(faultOf: (entry: T) => Fault | null): Meddler {
  return async ({ input, go }) => {
    const entries = entriesOf<T>(input);
    const failed = entries.flatMap((entry) => {
      const fault = faultOf(entry);
      return fault === null ? [] : [{ Id: entry.Id, ...fault }];
    });
    const left = entries.filter(({ Id }) => !failed.some((one) => one.Id === Id));
    const { Successful = [], Failed = [] } = left.length === 0 ? {} : await go({ ...input, Entries: left });
    return { Successful, Failed: [...(Failed as Entry[]), ...failed] };
  };
}

/** `b-0`, `b-1` … */
export function refs(count: number, lane: Lane = 'http'): BatchRef[] {
  return Array.from({ length: count }, (_, index) => ({ jobId: 'job-1', batchId: `b-${index}`, lane }));
}

export function idsOf(deliveries: readonly Delivery[]): string[] {
  return deliveries.map(({ ref }) => ref.batchId);
}

export function receiptsOf(deliveries: readonly Delivery[]): string[] {
  return deliveries.map(({ receipt }) => receipt);
}

/** Lets the queue's own time pass, as much as it takes, until it has its answer. */
export async function inTime<T>(clock: FakeClock, answer: Promise<T>): Promise<T> {
  let isThere = false;
  const seen = answer.finally(() => {
    isThere = true;
  });
  while (!isThere) await clock.advance(50);
  return seen;
}
