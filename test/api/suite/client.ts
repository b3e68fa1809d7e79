import assert from 'node:assert/strict';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { JobEvent } from '../../../src/contract/events.ts';
import type { CreatedAnswer, JobStatusAnswer } from '../../../src/contract/job-answers.ts';
import type { NewJobRequest } from '../../../src/contract/new-job.ts';
import type { ProblemAnswer } from '../../../src/contract/problem-answer.ts';
import type { RunEvent } from '../../../src/contract/scrape-run-events.ts';
import type { BackendKind } from '../../../src/main/backend.ts';
import { type OpenApi, openApiChecker } from '../../support/openapi.ts';
import type { Answer, Asked } from '../service.ts';

/** What a case may configure of a service, whatever the service runs on. */
export interface ServiceSettings {
  /** 0: items are sent out, and no worker takes them. */
  readonly workers?: number;
  readonly host?: string;
  readonly apiKey?: string;
  readonly readApiKey?: string;
  readonly allowedHosts?: readonly string[];
  /** Private addresses that targets may have. */
  readonly allowAddresses?: string;
  readonly maxBodyBytes?: number;
  /** The ETL API that keeps scrape runs. */
  readonly etlApiEndpoint?: string;
  readonly etlApiKey?: string;
  /** Folders with scrapers besides those that come with Trawl. */
  readonly scrapers?: readonly string[];
}

export interface RunningService {
  readonly backend: BackendKind;
  readonly url: string;
  ask(method: string, path: string, asked?: Asked): Promise<Answer>;
  /** `apiGraceMs` is how long answers that are being written may take. */
  stop(apiGraceMs?: number): Promise<void>;
}

/** Starts a separate service for a case; it stops by itself when the file is done. */
export type Start = (settings?: ServiceSettings) => Promise<RunningService>;

/** A client of the API that checks every answer against the OpenAPI document of the service that gave it. */
export class Client {
  readonly service: RunningService;
  readonly document: OpenApi;
  readonly #checker: ReturnType<typeof openApiChecker>;

  private constructor(service: RunningService, document: OpenApi) {
    this.service = service;
    this.document = document;
    this.#checker = openApiChecker(document);
  }

  static async of(service: RunningService): Promise<Client> {
    const { json } = await service.ask('GET', '/openapi.json');
    return new Client(service, json as OpenApi);
  }

  get url(): string {
    return this.service.url;
  }

  async ask(method: string, path: string, asked: Asked = {}): Promise<Answer> {
    const answer = await this.service.ask(method, path, asked);
    this.#checker.checkAnswer(method, path, answer);
    return answer;
  }

  /** The JSON of an answer that must be a success. */
  async get<T>(path: string): Promise<T> {
    return this.#good<T>(await this.ask('GET', path));
  }

  async post<T = JobStatusAnswer>(path: string, json?: unknown): Promise<T> {
    return this.#good<T>(await this.ask('POST', path, json === undefined ? {} : { json }));
  }

  async patch<T>(path: string, json: unknown): Promise<T> {
    return this.#good<T>(await this.ask('PATCH', path, { json }));
  }

  /** Sends items to a job. */
  async send<T>(jobId: string, contentType: string, body: string): Promise<T> {
    const headers = { 'content-type': contentType };
    return this.#good<T>(await this.ask('POST', `/jobs/${encodeURIComponent(jobId)}/items`, { body, headers }));
  }

  /** The problem in an answer, which must have this status and code. */
  async refused(status: number, code: string, method: string, path: string, asked: Asked = {}): Promise<ProblemAnswer> {
    const answer = await this.ask(method, path, asked);
    const problem = answer.json as ProblemAnswer | null;
    const said = `${method} ${path}: ${answer.text.slice(0, 500)}`;
    assert.deepEqual([answer.status, problem?.code, problem?.status], [status, code, status], said);
    return problem as ProblemAnswer;
  }

  async create(job: NewJobRequest): Promise<CreatedAnswer> {
    const answer = await this.ask('POST', '/jobs', { json: job });
    assert.equal(answer.status, 201, answer.text);
    return answer.json as CreatedAnswer;
  }

  /** Deletes a job and waits until it is gone: a busy machine may take longer than the server does. */
  async deleteJob(jobId: string): Promise<void> {
    for (;;) {
      const { status, text } = await this.ask('DELETE', `/jobs/${encodeURIComponent(jobId)}`);
      if (status === 204 || status === 404) return;
      assert.equal(status, 202, text);
    }
  }

  /** Creates a job and waits for its end; returns its final status. */
  async run(job: NewJobRequest): Promise<JobStatusAnswer> {
    return this.ended((await this.create(job)).job_id);
  }

  async ended(jobId: string): Promise<JobStatusAnswer> {
    return this.until(jobId, ({ event }) => event === 'end');
  }

  /** Follows the events of a job, and stops at the first that matches. */
  async until(jobId: string, fits: (heard: Heard) => boolean): Promise<JobStatusAnswer> {
    for await (const heard of this.watch(jobId)) if (fits(heard)) return heard.data as unknown as JobStatusAnswer;
    return assert.fail(`the events of ${jobId} ended before that`);
  }

  async *watch(jobId: string, lastEventId: string | null = null): AsyncGenerator<Heard> {
    const path = `/jobs/${encodeURIComponent(jobId)}/events`;
    for await (const heard of this.#events(path, 'JobEvent', lastEventId)) yield heard as Heard;
  }

  async *watchRun(runId: string, lastEventId: string | null = null): AsyncGenerator<RunEvent & { id: string | null }> {
    const path = `/api/scrape-runs/${encodeURIComponent(runId)}/events`;
    for await (const heard of this.#events(path, 'ScrapeRunEvent', lastEventId)) {
      yield heard as RunEvent & { id: string | null };
    }
  }

  async *#events(path: string, schema: string, lastEventId: string | null): AsyncGenerator<object> {
    const gone = new AbortController();
    const headers: Record<string, string> = lastEventId === null ? {} : { 'last-event-id': lastEventId };
    const response = await fetch(this.url + path, { headers, signal: gone.signal });
    const text = response.ok ? '' : await response.text();
    this.#checker.checkAnswer('GET', path, { status: response.status, headers: response.headers, text });
    assert.ok(response.ok, `${path}: ${text}`);
    const messages: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (message) => messages.push(message) });
    try {
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        parser.feed(chunk);
        for (const message of messages.splice(0)) yield this.#heard(message, schema);
      }
    } finally {
      gone.abort();
    }
  }

  #heard({ event, id, data }: EventSourceMessage, schema: string): object {
    const heard = { event, data: JSON.parse(data) };
    this.#checker.checkSchema(schema, heard);
    return { ...heard, id: id ?? null };
  }

  #good<T>({ status, text, json }: Answer): T {
    assert.ok(status === 200 || status === 201, text);
    return json as T;
  }
}

type DataOf<Name extends JobEvent['event']> = Extract<JobEvent, { event: Name }>['data'];

/** An event, with the fields of all kinds as optional ones: a case knows which it is looking at. */
export interface Heard {
  readonly event: JobEvent['event'];
  readonly id: string | null;
  readonly data: Partial<DataOf<'status'> & DataOf<'progress'> & DataOf<'items'> & DataOf<'end'>>;
}

/** Ids that no other case uses: all cases of a file share one service. */
export function uniqueId(name: string): string {
  made += 1;
  return `${name}-${made}`;
}

let made = 0;

export function noopItems(count: number, from = 0): { item_id: string; input: Record<string, unknown> }[] {
  return Array.from({ length: count }, (_, index) => ({ item_id: `i-${from + index}`, input: { n: from + index } }));
}

/** Every page of a list, entry by entry. */
export async function allPages<T>(client: Client, path: string, name: 'jobs' | 'items'): Promise<T[]> {
  const entries: T[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `${path.includes('?') ? '&' : '?'}cursor=${cursor}`;
    const page: Record<string, T[]> & { next_cursor?: string | null } = await client.get(path + more);
    entries.push(...(page[name] ?? []));
    cursor = page.next_cursor ?? null;
  }
  return entries;
}
