import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Lane } from '../../src/domain/lane.ts';
import { perLane } from './settings.ts';
import { VISIBILITY_SECONDS } from './timing.ts';

export interface LaneQueue {
  readonly work: Queue;
  readonly deadLetters: Queue;
}

/** Three workers that die of an item end it as poison; a message that came ten times never got that far. */
const MAX_DELIVERIES = 10;

/** The longest that SQS keeps a message. One that is lost earlier is missed by the ledger, and sent again. */
const RETENTION = Duration.days(14);

/** A queue per lane, and a dead-letter queue for each. They hold hints only: the stack may take them with it. */
export class Queues extends Construct {
  readonly lanes: Readonly<Record<Lane, LaneQueue>>;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const kept = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true, retentionPeriod: RETENTION };
    this.lanes = perLane((lane) => {
      const deadLetters = new Queue(this, `${lane}-dead-letters`, kept);
      const work = new Queue(this, lane, {
        ...kept,
        visibilityTimeout: Duration.seconds(VISIBILITY_SECONDS),
        // The longest: an empty queue that is asked once in twenty seconds costs a twentieth of one asked every second.
        receiveMessageWaitTime: Duration.seconds(20),
        deadLetterQueue: { queue: deadLetters, maxReceiveCount: MAX_DELIVERIES },
      });
      return { work, deadLetters };
    });
  }
}
