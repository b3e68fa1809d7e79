import type { ArtifactKind } from '../domain/artifact.ts';
import { errorMessage } from '../domain/error-message.ts';
import type { Failure, FailureType } from '../domain/failure.ts';
import type { ItemInput } from '../domain/item.ts';
import type { Secrets } from '../domain/secrets.ts';
import { urlPattern } from '../domain/url-pattern.ts';
import type { WorkOrder } from '../domain/work-order.ts';
import type { LeasedItem } from '../ports/ledger.ts';
import type { ProducedArtifact, ScrapeLog, ScrapeResult, ScrapeTools } from '../scraping/scraper.ts';
import { failedPage } from '../scraping/visits/failed-page.ts';
import { HeldRoom } from '../scraping/visits/held-room.ts';
import { type SeenTry, VisitLog } from '../scraping/visits/visit-log.ts';
import { encodeVisit } from '../scraping/visits/visit-record.ts';
import { KeptFailures } from './kept-failures.ts';

type FailedResult = ScrapeResult & { readonly kind: 'failed' };

/** What this process keeps of failures: the pages of the first ones of each group. */
export class FailureEvidence {
  readonly #room = new HeldRoom();
  readonly #noRoom = new HeldRoom(0);
  readonly #kept = new KeptFailures();

  /** For one attempt at an item. */
  begin(
    job: { readonly jobId: string; readonly order: Pick<WorkOrder, 'policy' | 'jobCreatedAt'> },
    item: Pick<LeasedItem, 'attempt' | 'input'>,
    tools: ScrapeTools,
  ): AttemptEvidence {
    const room = job.order.policy.results.keep_failures === 0 ? this.#noRoom : this.#room;
    return new AttemptEvidence({ room, kept: this.#kept }, job, item, tools);
  }
}

interface Shared {
  readonly room: HeldRoom;
  readonly kept: KeptFailures;
}

/** What is remembered of one attempt until its outcome is known. */
export class AttemptEvidence {
  readonly #kept: KeptFailures;
  readonly #visits: VisitLog;
  readonly #log: ScrapeLog;
  readonly #most: number;
  readonly #attempt: Parameters<KeptFailures['reserve']>[0];
  readonly #input: ItemInput;
  readonly #secrets: Secrets;
  /** The tools as they were lent, except for the web. */
  readonly tools: ScrapeTools;
  #giveBack: (() => void) | null = null;

  constructor(
    { room, kept }: Shared,
    { jobId, order }: Parameters<FailureEvidence['begin']>[0],
    { attempt, input }: Pick<LeasedItem, 'attempt' | 'input'>,
    tools: ScrapeTools,
  ) {
    this.#kept = kept;
    this.#visits = new VisitLog(tools.web, room);
    this.#log = tools.log;
    this.#most = order.policy.results.keep_failures;
    this.#attempt = { jobId, jobCreatedAt: order.jobCreatedAt, attempt };
    this.#input = input;
    this.#secrets = tools.secrets;
    this.tools = { ...tools, web: this.#visits };
  }

  /** A try ended like this, and another begins. */
  nextTry(failedAs: FailureType): void {
    this.#visits.nextTry(failedAs);
  }

  /**
   * The result as it is recorded: with the address at which it failed and, for the first ones of a group, what was seen
   * there.
   */
  async addTo(result: FailedResult, lastType: FailureType, at: number): Promise<FailedResult> {
    const seen = this.#visits.tryThatFailedAs(result.failure.type, lastType);
    const { evidence, ...rest } = result;
    const url = evidence?.url ?? seen.last?.url ?? null;
    const place = url === null ? null : urlPattern(url, this.#input);
    const failure: Failure = { ...result.failure, ...(place === null ? {} : { place }) };
    const added = await this.#artifacts({ ...result, failure }, seen, at);
    return {
      ...rest,
      failure,
      ...(added.length === 0 ? {} : { artifacts: [...(result.artifacts ?? []), ...added] }),
    };
  }

  async #artifacts(result: FailedResult, seen: SeenTry, at: number): Promise<readonly ProducedArtifact[]> {
    const { failure, artifacts = [], evidence } = result;
    // What a browser shows is not the answer to one request, and a visit of requests could not be replayed in it.
    if (evidence !== undefined) {
      this.#giveBack = this.#kept.reserve(this.#attempt, failure, this.#most);
      if (this.#giveBack === null) return [];
      const has = (...kinds: readonly ArtifactKind[]) => artifacts.some(({ kind }) => kinds.includes(kind));
      const { page, picture } = evidence;
      return [...(has('html', 'page') ? [] : [page]), ...(picture === undefined || has('screenshot') ? [] : [picture])];
    }
    // A request without an answer has no page, and the previous page is not the one that failed.
    if (seen.last?.kind !== 'answer') return [];
    this.#giveBack = this.#kept.reserve(this.#attempt, failure, this.#most);
    if (this.#giveBack === null) return [];
    const hasPage = artifacts.some(({ kind }) => kind === 'html' || kind === 'page');
    try {
      const page = hasPage ? null : failedPage(seen.last);
      const visit = await encodeVisit(seen, { input: this.#input, failure, at }, this.#secrets);
      return [...(page === null ? [] : [page]), { kind: 'visit', bytes: visit }];
    } catch (error) {
      // A site may send anything: the item's own failure must not be lost because of its page.
      this.#log.warn({ problem: errorMessage(error) }, 'the page of a failed item could not be kept');
      this.#lose();
      return [];
    }
  }

  /** What should be kept of the attempt has been stored. */
  kept(): void {
    this.#giveBack = null;
  }

  /** Forgets everything. If something could not be stored, another failure of the group takes its place. */
  close(): void {
    this.#lose();
    this.#visits.close();
  }

  #lose(): void {
    this.#giveBack?.();
    this.#giveBack = null;
  }
}
