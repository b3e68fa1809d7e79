import type {
  CreateScrapeRunRequest,
  CreateScrapeRunResponse,
  FinalizeScrapeRunRequest,
  ItemChanges,
  ListedScrapeRuns,
  UpdateScrapeRunItemRequest,
} from '../types.ts';
import { askEtl, type EtlDeps, EtlRefused, EtlUnreachable } from './etl-request.ts';
import { normalizeListResponse, normalizeRunResponse } from './normalize-run.ts';

export interface ListScrapeRunsOptions {
  domain?: string;
  status?: string;
  limit?: number;
  page?: number;
  sortBy?: 'startTime' | 'createdAt' | 'domain' | 'endTime';
  sortOrder?: 'asc' | 'desc';
}

/** A change of one item. */
export interface ItemUpdate {
  readonly url: string;
  readonly changes: ItemChanges;
}

export interface RefusedUpdate extends ItemUpdate {
  readonly reason: string;
}

/** Enough to fill a connection; known servers accept ten at a time. */
const PARALLEL_UPDATES = 10;
const UPDATES_PER_REQUEST = 500;
/** Runs of a domain that may have been created since a request was sent that got no answer. */
const NEWEST_RUNS = 5;

/** Scrape runs in an ETL API. Whatever a server calls its fields, the results use the names of `types.ts`. */
export class EtlClient {
  readonly #deps: EtlDeps;
  /** Null until a server has shown whether it accepts several changes in one request. */
  #takesBatches: boolean | null = null;

  constructor(deps: EtlDeps) {
    this.#deps = deps;
  }

  /**
   * A request that may have arrived without being answered is not simply repeated, because that would create a second
   * run: the run is looked for first, by the time that was sent with it.
   */
  async createScrapeRun(request: CreateScrapeRunRequest): Promise<CreateScrapeRunResponse> {
    const startedAt = request.metadata?.started_at ?? new Date(this.#deps.clock.now()).toISOString();
    const body = { ...request, metadata: { ...request.metadata, started_at: startedAt } };
    const create = async () => {
      const answer = await askEtl(this.#deps, { method: 'POST', path: RUNS, body, isRepeatable: false });
      return normalizeRunResponse(answer);
    };
    try {
      return await create();
    } catch (error) {
      if (!(error instanceof EtlUnreachable)) throw error;
      return (await this.#findCreated(request.domain, startedAt)) ?? (await create());
    }
  }

  async #findCreated(domain: string, startedAt: string): Promise<CreateScrapeRunResponse | null> {
    const { data } = await this.listScrapeRuns({ domain, limit: NEWEST_RUNS, sortBy: 'createdAt', sortOrder: 'desc' });
    return data.find((run) => run.domain === domain && run.metadata?.started_at === startedAt) ?? null;
  }

  async fetchScrapeRun(runId: string): Promise<CreateScrapeRunResponse> {
    return normalizeRunResponse(await askEtl(this.#deps, { method: 'GET', path: pathOf(runId) }));
  }

  async listScrapeRuns(options: ListScrapeRunsOptions = {}): Promise<ListedScrapeRuns> {
    return normalizeListResponse(await askEtl(this.#deps, { method: 'GET', path: RUNS, params: { ...options } }));
  }

  /** Null if the domain has no run. */
  async getLatestRunForDomain(domain: string): Promise<CreateScrapeRunResponse | null> {
    const { data } = await this.listScrapeRuns({ domain, limit: 1, sortBy: 'startTime', sortOrder: 'desc' });
    return data[0] ?? null;
  }

  async updateScrapeRunItem(runId: string, update: UpdateScrapeRunItemRequest): Promise<void> {
    await askEtl(this.#deps, { method: 'PATCH', path: pathOf(runId), body: update });
  }

  /**
   * Several changes at once: in few requests if the server accepts batches, otherwise one by one. Changes of one item
   * arrive in order. If it rejects, some may have arrived; sending them again does no harm. Returns the changes that the
   * server refused for their own sake, such as one of an item that the run does not have.
   */
  async updateScrapeRunItems(runId: string, updates: readonly ItemUpdate[]): Promise<readonly RefusedUpdate[]> {
    const refused: RefusedUpdate[] = [];
    for (let at = 0; at < updates.length; at += UPDATES_PER_REQUEST) {
      const group = updates.slice(at, at + UPDATES_PER_REQUEST);
      if (this.#takesBatches !== false && (await this.#sendBatch(runId, group))) continue;
      refused.push(...(await this.#sendEach(runId, group)));
    }
    return refused;
  }

  /**
   * Whether the server accepted all of them. One that ignores unknown fields also answers 200. Once it has accepted a
   * batch, a refusal is about what is in this one.
   */
  async #sendBatch(runId: string, updates: readonly ItemUpdate[]): Promise<boolean> {
    try {
      const body = { updateItems: updates };
      const answer = await askEtl(this.#deps, { method: 'PATCH', path: pathOf(runId), body });
      const updated = updatedIn(answer);
      // Also if it is fewer than were sent: then some are not in the run.
      this.#takesBatches ||= typeof updated === 'number';
      return updated === updates.length;
    } catch (error) {
      if (!(error instanceof EtlRefused) || !UNKNOWN_REQUEST.includes(error.status)) throw error;
      this.#takesBatches ||= false;
      return false;
    }
  }

  async #sendEach(runId: string, updates: readonly ItemUpdate[]): Promise<readonly RefusedUpdate[]> {
    const byUrl = Map.groupBy(updates, ({ url }) => url);
    const waiting = byUrl.values();
    const refused: RefusedUpdate[] = [];
    const errors: unknown[] = [];
    const send = async () => {
      for (const changes of waiting) {
        for (const updateItem of changes) {
          if (errors.length > 0) return;
          const reason = await this.#sendOne(runId, updateItem);
          if (reason !== null) refused.push({ ...updateItem, reason });
        }
      }
    };
    const senders = Array.from({ length: PARALLEL_UPDATES }, () => send().catch((error) => void errors.push(error)));
    // All of them, even if one has failed: a late request must not overtake what the caller sends next.
    await Promise.all(senders);
    if (errors.length > 0) throw errors[0];
    return refused;
  }

  /** Why the server does not want it; null if it does. */
  async #sendOne(runId: string, updateItem: ItemUpdate): Promise<string | null> {
    try {
      await this.updateScrapeRunItem(runId, { updateItem });
      return null;
    } catch (error) {
      if (!(error instanceof EtlRefused) || !NOT_THIS_ONE.includes(error.status)) throw error;
      return error.message;
    }
  }

  /** Servers in use recognise the end of a run by either of two forms, so both are sent. */
  async finalizeScrapeRun(runId: string, request: FinalizeScrapeRunRequest): Promise<void> {
    await askEtl(this.#deps, { method: 'PATCH', path: pathOf(runId), body: { ...request, finalize: true } });
  }
}

const RUNS = '/api/scrape-runs';

/** Statuses of servers for a request that they do not support. */
const UNKNOWN_REQUEST = [400, 404, 405, 422, 501];

/** Statuses for a change that will never be accepted. */
const NOT_THIS_ONE = [400, 404, 409, 410, 413, 422];

function pathOf(runId: string): string {
  return `${RUNS}/${encodeURIComponent(runId)}`;
}

function updatedIn(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null && 'updated' in answer ? answer.updated : null;
}
