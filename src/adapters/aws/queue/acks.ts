import { DeleteMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Clock } from '../../../ports/clock.ts';
import { inTens, MAX_ENTRIES } from './batches.ts';

/** How long a request that is not full waits for others while an earlier one is under way. */
const GATHER_MS = 20;

/**
 * Deletes the messages of one queue. A worker acknowledges one at a time, and a request costs the same for ten: those of
 * one turn of the event loop go together, and while a request is in progress the next ones gather until it is answered,
 * ten are complete, or a moment has passed. So a single one does not wait, and many share a request.
 */
export class AckGatherer {
  readonly #deps: AckDeps;
  #gathered: { readonly handle: string; readonly done: () => void }[] = [];
  #isDue = false;
  readonly #underWay = new Set<Promise<void>>();

  constructor(deps: AckDeps) {
    this.#deps = deps;
  }

  /** Resolves when it is deleted, or cannot be: then the message comes again, and its batch is found to be gone. */
  ack(handle: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gathered.push({ handle, done: resolve });
    if (this.#gathered.length >= MAX_ENTRIES) this.#go();
    else if (!this.#isDue) void this.#goWhenDue();
    return promise;
  }

  async #goWhenDue(): Promise<void> {
    const { clock } = this.#deps;
    this.#isDue = true;
    await clock.turn();
    if (this.#underWay.size > 0 && this.#gathered.length > 0) {
      const enough = new AbortController();
      await Promise.race([...this.#underWay, clock.sleep(GATHER_MS, enough.signal)]);
      enough.abort();
    }
    this.#isDue = false;
    if (this.#gathered.length > 0) this.#go();
  }

  #go(): void {
    const gathered = this.#gathered;
    this.#gathered = [];
    const deleting = this.#delete(gathered.map(({ handle }) => handle)).then(() => {
      this.#underWay.delete(deleting);
      for (const { done } of gathered) done();
    });
    this.#underWay.add(deleting);
  }

  async #delete(handles: readonly string[]): Promise<void> {
    const { sqs, queueUrl, clock, report } = this.#deps;
    const notTaken = await inTens(handles, clock, (entries) =>
      sqs.send(
        new DeleteMessageBatchCommand({
          QueueUrl: queueUrl,
          Entries: entries.map(({ Id, value }) => ({ Id, ReceiptHandle: value })),
        }),
      ),
    );
    // An invalid receipt is not an error: that message was deleted, or has been delivered again.
    const [failed] = notTaken.filter(({ isOurFault }) => !isOurFault);
    if (failed !== undefined) report('acknowledging', failed.why);
  }
}

interface AckDeps {
  readonly sqs: SQSClient;
  readonly queueUrl: string;
  readonly clock: Clock;
  readonly report: (where: string, error: unknown) => void;
}
