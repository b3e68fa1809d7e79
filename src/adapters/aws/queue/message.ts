import { hash } from 'node:crypto';
import type { Message } from '@aws-sdk/client-sqs';
import { LANES, type Lane } from '../../../domain/lane.ts';
import type { BatchRef, Delivery } from '../../../ports/work-queue.ts';

/** Part of every message, so that a later release knows what it reads. */
const VERSION = 1;

/**
 * A few hundred bytes: ids are short. Ten of them are far below what SQS takes in one request. In ASCII, because SQS
 * refuses some of the other characters.
 */
export function bodyOf({ jobId, batchId, lane }: BatchRef): string {
  const text = JSON.stringify({ v: VERSION, job: jobId, batch: batchId, lane });
  return text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The group of a job's messages. SQS takes printable ASCII of at most 128 characters; our ids may be longer, or in Greek. */
export function groupOf(jobId: string): string {
  return /^[!-~]{1,128}$/.test(jobId) ? jobId : hash('sha256', jobId);
}

/** Null if we did not send it. */
function refIn(body: string | undefined): BatchRef | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body ?? '');
  } catch {
    return null;
  }
  if (typeof parsed !== 'object' || parsed === null) return null;
  const { v, job, batch, lane: name } = parsed as Partial<Record<'v' | 'job' | 'batch' | 'lane', unknown>>;
  const lane = LANES.find((one) => one === name);
  if (v !== VERSION || lane === undefined || typeof job !== 'string' || typeof batch !== 'string') return null;
  return { jobId: job, batchId: batch, lane };
}

/**
 * Everything needed to refer to a delivery later, possibly from another object, in another thread, than the one that
 * received it.
 */
export interface Receipt {
  readonly lane: Lane;
  /** By the clock that can jump, because it is read in another thread; SQS itself has the last word. */
  readonly receivedAt: number;
  readonly handle: string;
}

function writeReceipt({ lane, receivedAt, handle }: Receipt): string {
  return `${lane}:${receivedAt.toString(36)}:${handle}`;
}

/** Null if it is not one of ours. */
export function readReceipt(text: string): Receipt | null {
  const [, name, time, handle] = /^([a-z]+):([0-9a-z]+):(.+)$/s.exec(text) ?? [];
  const lane = LANES.find((one) => one === name);
  if (lane === undefined || time === undefined || handle === undefined) return null;
  return { lane, receivedAt: Number.parseInt(time, 36), handle };
}

export interface SqsDelivery extends Delivery {
  /** How often the message was received, this time included, as far as SQS knows. */
  readonly receives: number;
}

/**
 * Turns messages into deliveries. One that we did not send, or that belongs to another lane, is left alone: it comes
 * again until the queue sets it aside as a dead letter, where a person can look at it. Each is reported once.
 */
export class MessageReader {
  readonly #report: (where: string, error: unknown) => void;
  readonly #reported = new Set<string>();

  constructor(report: (where: string, error: unknown) => void) {
    this.#report = report;
  }

  deliveriesOf(lane: Lane, messages: readonly Message[], receivedAt: number): SqsDelivery[] {
    return messages.flatMap((message) => {
      const ref = refIn(message.Body);
      if (message.ReceiptHandle === undefined) return [];
      if (ref?.lane === lane) {
        const receipt = writeReceipt({ lane, receivedAt, handle: message.ReceiptHandle });
        return [{ ref, receipt, receives: Number(message.Attributes?.ApproximateReceiveCount ?? 1) }];
      }
      this.#reportForeign(lane, message);
      return [];
    });
  }

  #reportForeign(lane: Lane, { MessageId: id = 'without an id', Body: body = '' }: Message): void {
    if (this.#reported.has(id)) return;
    if (this.#reported.size >= MAX_REPORTED) this.#reported.clear();
    this.#reported.add(id);
    const start = JSON.stringify(body.slice(0, SHOWN_LENGTH));
    this.#report(
      `the ${lane} queue`,
      new Error(`message ${id} was not sent by Trawl, and is left alone: it begins with ${start}`),
    );
  }
}

const MAX_REPORTED = 1000;
const SHOWN_LENGTH = 80;
