import type { BatchResultErrorEntry } from '@aws-sdk/client-sqs';
import { backoffMs, spreadMs } from '../../../domain/backoff.ts';
import type { Clock } from '../../../ports/clock.ts';
import { atOnce } from '../at-once.ts';

/** What SQS takes in one request, and hands out in one. */
export const MAX_ENTRIES = 10;

/** Each is a socket while it lasts; more of them would not be faster. */
const REQUESTS_AT_ONCE = 8;

/** Tries per entry. The SDK has its own retries for requests that fail as a whole. */
const TRIES = 3;

const FIRST_PAUSE_MS = 100;

type Numbered<T> = readonly { readonly Id: string; readonly value: T }[];

/** The part of an answer that all batch requests have in common. */
interface BatchAnswer {
  readonly Successful?: readonly { readonly Id?: string | undefined }[] | undefined;
  readonly Failed?: readonly BatchResultErrorEntry[] | undefined;
}

interface NotTaken<T> {
  readonly value: T;
  readonly why: Error;
  /** The service says that it is the sender's fault: the message or the receipt is invalid. */
  readonly isOurFault: boolean;
}

/**
 * Sends entries about many messages, in requests of ten, several at once. An entry that failed by a fault of the service
 * is tried again. Returns the entries that were finally refused, or whose fate is unknown because there was no answer.
 */
export async function inTens<T>(
  values: readonly T[],
  clock: Clock,
  request: (entries: Numbered<T>) => Promise<BatchAnswer>,
): Promise<readonly NotTaken<T>[]> {
  const tens = Array.from({ length: Math.ceil(values.length / MAX_ENTRIES) }, (_, index) =>
    values.slice(index * MAX_ENTRIES, (index + 1) * MAX_ENTRIES),
  );
  const notTaken = await atOnce(REQUESTS_AT_ONCE, tens, (ten) => untilTaken(ten, clock, request));
  return notTaken.flat();
}

async function untilTaken<T>(
  ten: readonly T[],
  clock: Clock,
  request: (entries: Numbered<T>) => Promise<BatchAnswer>,
): Promise<readonly NotTaken<T>[]> {
  const lost: NotTaken<T>[] = [];
  for (let left = ten, attempt = 1; ; attempt += 1) {
    const entries = left.map((value, index) => ({ Id: String(index), value }));
    let answer: BatchAnswer;
    try {
      answer = await request(entries);
    } catch (error) {
      const why = error instanceof Error ? error : new Error(String(error));
      return [...lost, ...left.map((value) => ({ value, why, isOurFault: false }))];
    }
    const rejected = whatFailed(entries, answer);
    const curable = rejected.filter(({ isOurFault }) => !isOurFault);
    lost.push(...rejected.filter(({ isOurFault }) => isOurFault));
    if (curable.length === 0 || attempt === TRIES) return [...lost, ...curable];
    await clock.sleep(pauseMs(attempt, clock));
    left = curable.map(({ value }) => value);
  }
}

/** An entry that the answer does not mention was not accepted. */
function whatFailed<T>(entries: Numbered<T>, { Successful = [], Failed = [] }: BatchAnswer): NotTaken<T>[] {
  const taken = new Set(Successful.map(({ Id }) => Id));
  const failed = new Map(Failed.map((entry) => [entry.Id, entry]));
  return entries
    .filter(({ Id }) => !taken.has(Id))
    .map(({ Id, value }) => {
      const {
        Code: code = 'no answer',
        Message: message = 'no word why',
        SenderFault: isSenders,
      } = failed.get(Id) ?? {};
      // A key service that throttles is counted among our faults by SQS.
      const isOurFault = isSenders === true && !/throttl/i.test(code);
      return { value, why: new Error(`SQS did not take an entry: ${code}, ${message}`), isOurFault };
    });
}

/** Doubles with every failure up to `longestMs`, and no two wait for the same time. */
export function pauseMs(failures: number, clock: Clock, longestMs = 20_000): number {
  return spreadMs(backoffMs(failures - 1, FIRST_PAUSE_MS, longestMs), clock.chance());
}
