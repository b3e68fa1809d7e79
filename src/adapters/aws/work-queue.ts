import { GetQueueAttributesCommand, SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { LANES, type Lane } from '../../domain/lane.ts';
import type { Clock } from '../../ports/clock.ts';
import type { BatchRef, DeadLetters, Delivery, LaneDepth, ReceiverRoom, WorkQueue } from '../../ports/work-queue.ts';
import { AckGatherer } from './queue/acks.ts';
import { inTens } from './queue/batches.ts';
import { findDeadLetterQueue } from './queue/dead-letters.ts';
import { bodyOf, groupOf, MessageReader, type Receipt, readReceipt } from './queue/message.ts';
import { LINGER_MS, QueueReceiver } from './queue/receiver.ts';
import { takeFromAnyJob } from './queue/take-turns.ts';
import { UnderWay } from './queue/under-way.ts';
import { changeVisibility, extensionSeconds, type Hiding, hideSeconds } from './queue/visibility.ts';

/**
 * A standard SQS queue per lane. It keeps no record of what it hands out: a receipt itself says which queue it belongs
 * to and since when, so that another object, in a heartbeat's thread, can extend what this one received.
 * Whatever fails after the SDK's retries is reported and ignored, because a message is only a hint: one that could not
 * be deleted comes again and finds its batch gone, one that could not be sent is reported as refused.
 */
export class SqsWorkQueue implements WorkQueue, DeadLetters {
  readonly #deps: SqsQueueDeps;
  readonly #report: (where: string, error: unknown) => void;
  readonly #reader: MessageReader;
  readonly #lanes: ReadonlyMap<Lane, LaneQueue>;
  readonly #dead = new Map<Lane, Promise<LaneQueue | null>>();
  readonly #underWay = new UnderWay();

  constructor(deps: SqsQueueDeps) {
    this.#deps = deps;
    this.#report = deps.onTrouble ?? (() => {});
    this.#reader = new MessageReader(this.#report);
    this.#lanes = new Map(LANES.map((lane) => [lane, this.#open(`the ${lane} queue`, deps.queueUrls[lane])]));
  }

  async send(refs: readonly BatchRef[]): Promise<{ readonly refused: readonly BatchRef[] }> {
    const { sqs, clock, queueUrls } = this.#deps;
    const sendTo = async ([lane, ofLane = []]: [Lane, (readonly BatchRef[])?]) => {
      const notTaken = await inTens(ofLane, clock, (entries) =>
        sqs.send(
          new SendMessageBatchCommand({
            QueueUrl: queueUrls[lane],
            // On a standard queue a group does not order anything: SQS delivers messages of groups with few in flight
            // before those of a group with many ("fair queues").
            Entries: entries.map(({ Id, value }) => ({
              Id,
              MessageBody: bodyOf(value),
              MessageGroupId: groupOf(value.jobId),
            })),
          }),
        ),
      );
      const [first] = notTaken;
      if (first !== undefined) this.#report(`the ${lane} queue: sending`, first.why);
      return notTaken.map(({ value }) => value);
    };
    const byLane = Object.entries(Object.groupBy(refs, ({ lane }) => lane)) as [Lane, BatchRef[]][];
    return { refused: (await Promise.all(byLane.map(sendTo))).flat() };
  }

  async receive(lane: Lane, room: ReceiverRoom, hideMs: number, signal: AbortSignal): Promise<readonly Delivery[]> {
    const { clock } = this.#deps;
    const { receiver } = this.#lane(lane);
    return takeFromAnyJob(
      { room, hideMs, clock, signal },
      {
        receive: async (max) => {
          const messages = await this.#underWay.add(receiver.receive(max, hideSeconds(hideMs), signal));
          return this.#reader.deliveriesOf(lane, messages, clock.now());
        },
        hide: (receipts, ms) => this.extend(receipts, ms),
        giveBack: (receipts) => this.giveBack(receipts),
        sendAgain: async (deliveries) => {
          const { refused } = await this.send(deliveries.map(({ ref }) => ref));
          const isRefused = ({ ref }: Delivery) => refused.includes(ref);
          await this.ack(deliveries.filter((delivery) => !isRefused(delivery)).map(({ receipt }) => receipt));
          const kept = deliveries.filter(isRefused).map(({ receipt }) => receipt);
          await this.extend(kept, NOT_SENT_HIDE_MS);
        },
      },
    );
  }

  async extend(receipts: readonly string[], hideMs: number): Promise<void> {
    const now = this.#deps.clock.now();
    await this.#hide(receipts, ({ receivedAt }) => extensionSeconds(hideMs, receivedAt, now), 1);
  }

  async ack(receipts: readonly string[]): Promise<void> {
    const acks = receiptsIn(receipts).map(({ lane, handle }) => this.#lane(lane).acks.ack(handle));
    await this.#underWay.add(Promise.all(acks));
  }

  async giveBack(receipts: readonly string[]): Promise<void> {
    await this.#hide(receipts, () => 0, 0);
  }

  async depth(): Promise<readonly LaneDepth[]> {
    const { sqs, queueUrls } = this.#deps;
    return Promise.all(
      LANES.map(async (lane) => {
        const { Attributes = {} } = await sqs.send(
          new GetQueueAttributesCommand({
            QueueUrl: queueUrls[lane],
            AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
          }),
        );
        const waiting = Number(Attributes.ApproximateNumberOfMessages ?? 0);
        return { lane, waiting, delivered: Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0) };
      }),
    );
  }

  async takeDead(lane: Lane, max: number): Promise<readonly Delivery[]> {
    const dead = await this.#deadOf(lane);
    if (dead === null) return [];
    const messages = await dead.receiver.receiveNow(max, DEAD_HIDE_SECONDS);
    return this.#reader.deliveriesOf(lane, messages, this.#deps.clock.now());
  }

  async forgetDead(receipts: readonly string[]): Promise<void> {
    const acks = receiptsIn(receipts).map(async ({ lane, handle }) => (await this.#deadOf(lane))?.acks.ack(handle));
    await this.#underWay.add(Promise.all(acks));
  }

  /**
   * Waits until messages that were on their way to a receiver that stopped are returned, and requests about others have
   * arrived: call it before the client is closed, and after the receivers were stopped. What SQS has not answered by
   * then is abandoned, and is delivered again when its visibility timeout is over.
   */
  async close(): Promise<void> {
    const ended = new AbortController();
    await Promise.race([this.#underWay.end(), this.#deps.clock.sleep(CLOSE_MS, ended.signal)]);
    ended.abort();
  }

  async #hide(receipts: readonly string[], secondsFor: (receipt: Receipt) => number, least: number): Promise<void> {
    const byLane = Map.groupBy(receiptsIn(receipts), ({ lane }) => lane);
    const hideIn = ([lane, ofLane]: [Lane, readonly Receipt[]]) => {
      const hidings = ofLane.map((receipt) => ({ handle: receipt.handle, seconds: secondsFor(receipt) }));
      return this.#lane(lane).hide(hidings.filter(({ seconds }) => seconds >= least));
    };
    await Promise.all([...byLane].map(hideIn));
  }

  /** Asked for once; an answer that failed is asked for again. */
  #deadOf(lane: Lane): Promise<LaneQueue | null> {
    const known = this.#dead.get(lane);
    if (known !== undefined) return known;
    const found = findDeadLetterQueue(this.#deps.sqs, this.#deps.queueUrls[lane]).then((url) =>
      url === null ? null : this.#open(`the dead letters of ${lane}`, url),
    );
    this.#dead.set(lane, found);
    found.catch(() => this.#dead.delete(lane));
    return found;
  }

  #open(name: string, queueUrl: string): LaneQueue {
    const report = (where: string, error: unknown) => this.#report(`${name}: ${where}`, named(error, queueUrl));
    const deps = { sqs: this.#deps.sqs, clock: this.#deps.clock, queueUrl, report };
    const underWay = this.#underWay;
    const hide = (hidings: readonly Hiding[]) => underWay.add(changeVisibility(hidings, deps));
    return {
      hide,
      acks: new AckGatherer(deps),
      receiver: new QueueReceiver({
        ...deps,
        underWay,
        giveBack: (messages) =>
          hide(messages.flatMap(({ ReceiptHandle: handle }) => (handle === undefined ? [] : [{ handle, seconds: 0 }]))),
      }),
    };
  }

  #lane(name: Lane): LaneQueue {
    const lane = this.#lanes.get(name);
    if (lane === undefined) throw new Error(`there is no lane ${name}`);
    return lane;
  }
}

export function openSqsQueue(deps: SqsQueueDeps): SqsWorkQueue {
  return new SqsWorkQueue(deps);
}

interface SqsQueueDeps {
  readonly sqs: SQSClient;
  readonly queueUrls: Readonly<Record<Lane, string>>;
  readonly clock: Clock;
  /** Reports what was skipped and may be of interest. */
  readonly onTrouble?: (where: string, error: unknown) => void;
}

/** As long as a request lingers, and then what it brought is given back. */
const CLOSE_MS = LINGER_MS + 500;

/** A worker without permission to send must not receive it over and over either: that would end as a dead letter. */
const NOT_SENT_HIDE_MS = 10 * 60_000;

/** Time enough to ask the ledger about them; when it cannot be asked, they are there again soon. */
const DEAD_HIDE_SECONDS = 60;

interface LaneQueue {
  readonly receiver: QueueReceiver;
  readonly acks: AckGatherer;
  readonly hide: (hidings: readonly Hiding[]) => Promise<void>;
}

/** Receipts that are not ours are ignored. */
function receiptsIn(texts: readonly string[]): Receipt[] {
  return texts.map(readReceipt).filter((receipt) => receipt !== null);
}

/** SQS says that there is no such queue, but not which. */
function named(error: unknown, queueUrl: string): unknown {
  if (!(error instanceof Error) || error.name !== 'QueueDoesNotExist') return error;
  const advice =
    'create it with trawl doctor --create, or check WEB_SCRAPER_QUEUE_URL and WEB_SCRAPER_BROWSER_QUEUE_URL';
  return new Error(`there is no queue ${queueUrl}: ${advice}`, { cause: error });
}
