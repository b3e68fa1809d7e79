import { ChangeMessageVisibilityBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Clock } from '../../../ports/clock.ts';
import { inTens } from './batches.ts';

/** SQS hides a message for at most twelve hours from when it was received, including all extensions. */
const LONGEST_HIDE_SECONDS = 43_200;

/** It began to count before its answer reached us, and our clocks are not the same. */
const MARGIN_SECONDS = 30;

/** SQS counts whole seconds. Less than requested would let a second worker in; zero would return the message. */
export function hideSeconds(hideMs: number): number {
  return Math.min(LONGEST_HIDE_SECONDS, Math.max(1, Math.ceil(hideMs / 1000)));
}

/** As long as is still allowed. Zero or less when it cannot be extended any more. */
export function extensionSeconds(hideMs: number, receivedAt: number, now: number): number {
  const age = Math.ceil(Math.max(0, now - receivedAt) / 1000);
  return Math.min(hideSeconds(hideMs), LONGEST_HIDE_SECONDS - MARGIN_SECONDS - age);
}

export interface Hiding {
  readonly handle: string;
  /** From now on; 0 shows it at once. */
  readonly seconds: number;
}

/**
 * Hides messages of one queue for longer or shorter. What cannot be changed is ignored, and reappears when its time is
 * over.
 */
export async function changeVisibility(hidings: readonly Hiding[], deps: VisibilityDeps): Promise<void> {
  const { sqs, queueUrl, clock, report } = deps;
  const notTaken = await inTens(hidings, clock, (entries) =>
    sqs.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: queueUrl,
        Entries: entries.map(({ Id, value: { handle, seconds } }) => ({
          Id,
          ReceiptHandle: handle,
          VisibilityTimeout: seconds,
        })),
      }),
    ),
  );
  const [failed] = notTaken.filter(({ isOurFault }) => !isOurFault);
  if (failed !== undefined) report('hiding', failed.why);
}

interface VisibilityDeps {
  readonly sqs: SQSClient;
  readonly queueUrl: string;
  readonly clock: Clock;
  readonly report: (where: string, error: unknown) => void;
}
