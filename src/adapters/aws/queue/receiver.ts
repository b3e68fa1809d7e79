import { type Message, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Clock } from '../../../ports/clock.ts';
import { MAX_ENTRIES, pauseMs } from './batches.ts';
import type { UnderWay } from './under-way.ts';

/** The longest that SQS allows: an empty answer costs as much as a full one. */
const WAIT_SECONDS = 20;

/** A request that was on its way when its receiver was asked to stop is answered in less. */
export const LINGER_MS = 1000;

/**
 * Receives from one queue. There is one long poll at a time, because an empty one costs money too; only if it returned
 * as much as possible are there more requests, which do not wait: one, then two, then four at a time.
 */
export class QueueReceiver {
  readonly #deps: ReceiverDeps;

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
  }

  /** Waits for at least one message. [] when `signal` aborts; messages on their way then are given back. */
  async receive(max: number, hideSeconds: number, signal: AbortSignal): Promise<readonly Message[]> {
    const { clock, report } = this.#deps;
    for (let failures = 0; !signal.aborted; ) {
      try {
        const messages = await this.#poll(Math.min(max, MAX_ENTRIES), hideSeconds, signal);
        failures = 0;
        if (messages.length === MAX_ENTRIES) messages.push(...(await this.#more(max - MAX_ENTRIES, hideSeconds)));
        if (signal.aborted) await this.#deps.giveBack(messages);
        else if (messages.length > 0) return messages;
      } catch (error) {
        // A worker without its queue has nothing better to do than to try again.
        failures += 1;
        report('receiving', error);
        await clock.sleep(pauseMs(failures, clock), signal);
      }
    }
    return [];
  }

  /** At most `max`, of what is there. */
  async receiveNow(max: number, hideSeconds: number): Promise<readonly Message[]> {
    const messages = await this.#request(Math.min(max, MAX_ENTRIES), hideSeconds, 0);
    if (messages.length === MAX_ENTRIES) messages.push(...(await this.#more(max - MAX_ENTRIES, hideSeconds)));
    return messages;
  }

  async #poll(max: number, hideSeconds: number, signal: AbortSignal): Promise<Message[]> {
    const cut = new AbortController();
    const stopped = Promise.withResolvers<null>();
    const stop = () => stopped.resolve(null);
    signal.addEventListener('abort', stop, { once: true });
    const answer = this.#request(max, hideSeconds, WAIT_SECONDS, cut.signal);
    try {
      const messages = await Promise.race([answer, stopped.promise]);
      if (messages !== null) return messages;
    } finally {
      signal.removeEventListener('abort', stop);
    }
    void this.#deps.underWay.add(this.#giveBackWhatComes(answer, cut));
    return [];
  }

  /**
   * SQS may already have handed out messages that we have not seen yet. If the request were cut at once they would be
   * hidden from everyone for as long as a worker may keep them.
   */
  async #giveBackWhatComes(answer: Promise<Message[]>, cut: AbortController): Promise<void> {
    const { clock, giveBack } = this.#deps;
    const isThere = new AbortController();
    void clock.sleep(LINGER_MS, isThere.signal).then(() => cut.abort());
    try {
      await giveBack(await answer);
    } catch {
      // It was cut, or failed: there is nothing to return, and no caller is waiting.
    } finally {
      isThere.abort();
    }
  }

  /** The first ones have been received: trouble with further ones shows when they are requested again. */
  async #more(max: number, hideSeconds: number): Promise<readonly Message[]> {
    const messages: Message[] = [];
    for (let atOnce = 1, isFull = true; isFull && messages.length < max; atOnce *= 2) {
      const wanted = max - messages.length;
      const sizes = Array.from({ length: Math.min(atOnce, Math.ceil(wanted / MAX_ENTRIES)) }, (_, index) =>
        Math.min(MAX_ENTRIES, wanted - index * MAX_ENTRIES),
      );
      const answers = await Promise.allSettled(sizes.map((size) => this.#request(size, hideSeconds, 0)));
      for (const [index, answer] of answers.entries()) {
        if (answer.status === 'rejected') this.#deps.report('receiving', answer.reason);
        const got = answer.status === 'fulfilled' ? answer.value : [];
        isFull &&= got.length === sizes[index];
        messages.push(...got);
      }
    }
    return messages;
  }

  async #request(max: number, hideSeconds: number, waitSeconds: number, signal?: AbortSignal): Promise<Message[]> {
    const { sqs, queueUrl } = this.#deps;
    const command = new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: max,
      VisibilityTimeout: hideSeconds,
      WaitTimeSeconds: waitSeconds,
      MessageSystemAttributeNames: ['ApproximateReceiveCount'],
    });
    const { Messages = [] } = await sqs.send(command, signal === undefined ? {} : { abortSignal: signal });
    return Messages;
  }
}

interface ReceiverDeps {
  readonly sqs: SQSClient;
  readonly queueUrl: string;
  readonly clock: Clock;
  /** Tracks what is still in progress after the receiver has its answer. */
  readonly underWay: UnderWay;
  readonly giveBack: (messages: readonly Message[]) => Promise<void>;
  readonly report: (where: string, error: unknown) => void;
}
