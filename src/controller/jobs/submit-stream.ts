import { isRecord } from '../../domain/is-record.ts';
import type { JobRecord, NewJob } from '../../domain/job.ts';
import type { JobBook } from '../../ports/ledger.ts';
import { inPieces } from '../intake/in-pieces.ts';
import { parseJsonBytes } from '../intake/parse-json-bytes.ts';
import type { CatalogScraper } from '../intake/scraper-catalog.ts';
import { brokenText, type JsonPart, JsonSplitter } from '../intake/split-json.ts';
import { untilAborted } from '../intake/until-aborted.ts';
import { controlProblems } from './control-problems.ts';
import { DraftedItems } from './drafted-items.ts';
import { MAX_INLINE_ITEMS, parseNewJob } from './parse-new-job.ts';
import { createWithRecording } from './recordings/keep-for-job.ts';
import {
  answerExisting,
  findScraper,
  idFromKey,
  newJobOf,
  policyProblems,
  readRecording,
  reject,
  type SubmitAnswer,
  type SubmitDeps,
  scraperFor,
  submitJob,
  warningsAbout,
} from './submit.ts';

export interface SubmitStreamDeps extends Omit<SubmitDeps, 'ledger'> {
  readonly ledger: Pick<JobBook, 'createJob' | 'draftJob' | 'job'>;
}

type StreamAnswer =
  | SubmitAnswer
  /** The body is not the JSON of a request at all. */
  | { readonly kind: 'malformed'; readonly message: string };

/** A body up to this size, with up to MAX_INLINE_ITEMS items, is parsed as a whole and created in one step. */
export const MAX_INLINE_BYTES = 8 * 2 ** 20;

export interface StreamOptions {
  readonly idempotencyKey: string | null;
  readonly signal: AbortSignal;
  /** For tests: the size up to which a body is parsed as a whole, and how many items are written at a time. */
  readonly inlineBytes?: number;
  readonly itemsPerChunk?: number;
}

/**
 * Creates the job of a request whose body is read as it arrives, with any number of items in constant memory; all of it or
 * nothing. A small request takes the path of `submitJob`. The items of a large one go into a draft of the ledger, which is
 * invisible; one write after the last item creates the job, if the whole request is valid. If the bytes end with an error,
 * or `signal` aborts, the error is rethrown and the draft is dropped.
 */
export async function submitJobStream(
  deps: SubmitStreamDeps,
  bytes: AsyncIterable<Uint8Array>,
  { idempotencyKey, signal, inlineBytes = MAX_INLINE_BYTES, itemsPerChunk }: StreamOptions,
): Promise<StreamAnswer> {
  const source = untilAborted(bytes, signal);
  try {
    const head = await readHead(source, inlineBytes);
    if (head.isEnd) {
      const parsed = parseJsonBytes(head.bytes);
      if (head.bytes.length === 0) return { kind: 'malformed', message: 'the request has no body' };
      if ('problem' in parsed) return { kind: 'malformed', message: parsed.problem };
      if (!hasManyItems(parsed.value)) return await submitJob(deps, parsed.value, idempotencyKey);
    }
    return await new LargeRequest(deps, idempotencyKey, itemsPerChunk).take(inPieces(head.bytes, source));
  } finally {
    await source.return(undefined);
  }
}

/** Fields by name, and the items on their way into a draft. */
class LargeRequest {
  readonly #deps: SubmitStreamDeps;
  readonly #key: string | null;
  readonly #fields = new Map<string, unknown>();
  readonly #items: DraftedItems;
  /** Whether the scraper of the job has checked the items so far. */
  #isChecked = false;
  #hasBegun = false;
  #inline: Awaited<ReturnType<typeof readRecording>> | null = null;
  /** A job with this id that existed when the first item arrived. */
  #present: JobRecord | null = null;

  constructor(deps: SubmitStreamDeps, key: string | null, itemsPerChunk: number | undefined) {
    this.#deps = deps;
    this.#key = key;
    this.#items = new DraftedItems(deps, itemsPerChunk);
  }

  async take(pieces: AsyncIterable<Uint8Array>): Promise<StreamAnswer> {
    try {
      const broken = await this.#read(pieces);
      if (broken !== null) return { kind: 'malformed', message: broken };
      return await this.#make();
    } finally {
      await this.#items.end();
    }
  }

  /** What is wrong with the bytes, if they are not a request; null otherwise. */
  async #read(pieces: AsyncIterable<Uint8Array>): Promise<string | null> {
    const splitter = new JsonSplitter('request');
    for await (const piece of pieces) {
      for (const part of splitter.push(piece)) {
        const problem = await this.#takePart(part);
        if (problem !== null) return problem;
      }
      await this.#items.handOverIfDue();
    }
    const last = splitter.last();
    if (last !== null) return brokenText(last);
    await this.#items.finish();
    return null;
  }

  async #takePart(part: JsonPart): Promise<string | null> {
    switch (part.kind) {
      case 'broken':
        return brokenText(part);
      case 'field': {
        const parsed = parseJsonBytes(part.bytes);
        if ('problem' in parsed) return `${part.name}: ${parsed.problem}`;
        this.#fields.set(part.name, parsed.value);
        return null;
      }
      case 'too-long':
        this.#items.refuse(part.index);
        return null;
      case 'entry': {
        if (!this.#hasBegun) await this.#begin();
        const parsed = parseJsonBytes(part.bytes);
        if ('problem' in parsed) return `items.${part.index}: ${parsed.problem}`;
        await this.#items.take(part.index, parsed.value, part.bytes.length);
        return null;
      }
    }
  }

  /** With what is known when the first item arrives: fields may follow the items. */
  async #begin(): Promise<void> {
    this.#hasBegun = true;
    const jobId = this.#fields.get('job_id');
    if (typeof jobId === 'string') this.#present = await this.#deps.ledger.job(jobId);
    // The items will not be created, but the request must be read to its end before it is answered.
    if (this.#present !== null) this.#items.onlyRead();
    const scraper = await this.#knownScraper();
    if (scraper === null) return;
    this.#isChecked = true;
    this.#items.checkWith(scraper);
  }

  /** Null if it is not known yet, or cannot be used: `#make` says why. */
  async #knownScraper(): Promise<CatalogScraper | null> {
    if (this.#fields.has('recording')) {
      const inline = await this.#readInline();
      return 'problems' in inline || inline.sent === null ? null : await this.#deps.catalog.ofRecording(inline.sent);
    }
    const scraperId = this.#fields.get('scraper_id');
    if (typeof scraperId !== 'string') return null;
    return (await findScraper(this.#deps, scraperId)).scraper ?? null;
  }

  async #readInline(): ReturnType<typeof readRecording> {
    this.#inline ??= await readRecording(this.#deps, this.#fields.get('recording'));
    return this.#inline;
  }

  async #make(): Promise<StreamAnswer> {
    const { ledger, clock, faults } = this.#deps;
    const fields = Object.fromEntries(this.#fields);
    const parsed = parseNewJob(fields);
    const { shape } = this.#items;
    if ('problems' in parsed) return reject([...parsed.problems, ...shape.first], parsed.problems.length + shape.count);
    if (shape.count > 0) return reject(shape.first, shape.count);
    const { wanted } = parsed;
    const inline = await this.#readInline();
    if ('problems' in inline) return reject(inline.problems);
    const submission = this.#items.submission(fields);
    const jobId = wanted.job_id ?? idFromKey(this.#deps, this.#key);
    // As in `submitJob`: the scraper may have changed since an earlier request created the job.
    const present = this.#present ?? (await ledger.job(jobId));
    const asked = { wanted, inline };
    if (present !== null) return answerExisting(present, asked, submission, this.#key);

    const found = await scraperFor(this.#deps, wanted, inline);
    if ('problem' in found) return reject([found.problem]);
    const { scraper } = found;
    const dear = policyProblems(this.#deps, wanted);
    if (dear.length > 0) return reject(dear);
    if (!this.#isChecked) await this.#items.checkAll(scraper);
    const { inputs } = this.#items;
    const problems = [...controlProblems(scraper, wanted.execution_policy), ...inputs.first];
    if (problems.length > 0) return reject(problems, problems.length - inputs.first.length + inputs.count);
    await faults.at('after-draft-before-commit');
    const job = newJobOf(this.#deps, wanted, jobId, scraper, submission);
    const commit = (made: NewJob) => this.#items.commit(made, clock.now());
    const answer = await createWithRecording(this.#deps, job, found, commit);
    if (answer.kind === 'exists') return answerExisting(answer.job, asked, submission, this.#key);
    return { ...answer, warnings: warningsAbout(asked, answer.job) };
  }
}

function hasManyItems(request: unknown): boolean {
  return isRecord(request) && Array.isArray(request['items']) && request['items'].length > MAX_INLINE_ITEMS;
}

interface Head {
  readonly bytes: Uint8Array;
  readonly isEnd: boolean;
}

/** As much as may be parsed at once, without a byte order mark; the whole body if it is no larger than that. */
export async function readHead(source: AsyncIterator<Uint8Array>, maxBytes: number): Promise<Head> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  while (size <= maxBytes) {
    const next = await source.next();
    if (next.done === true) return { bytes: withoutMark(Buffer.concat(pieces)), isEnd: true };
    pieces.push(next.value);
    size += next.value.length;
  }
  return { bytes: withoutMark(Buffer.concat(pieces)), isEnd: false };
}

function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
