import type { FieldError } from '../../contract/problem.ts';
import type { Digest } from '../../domain/artifact.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { NewItem } from '../../domain/item.ts';
import type { NewJob } from '../../domain/job.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { JobBook, JobDraft } from '../../ports/ledger.ts';
import type { CatalogScraper } from '../intake/scraper-catalog.ts';
import { MAX_RECORD_BYTES } from '../intake/split-records.ts';
import { parseNewItem } from './parse-new-job.ts';
import { inputProblems, MAX_PROBLEMS, repeatedProblem } from './submit.ts';

const ITEMS_PER_CHUNK = 1000;
const BYTES_PER_CHUNK = 2 ** 20;
/** A slow sender's items are written after this time: a draft without writes looks like that of a dead process. */
const HAND_OVER_AFTER_MS = 30_000;
const CHECKED_AT_ONCE = 500;

interface DraftedItemsDeps {
  readonly ledger: Pick<JobBook, 'draftJob'>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly digest: Digest;
}

/**
 * The items of a large request on their way into a draft of the ledger, chunk by chunk; the next chunk is read while one
 * is being written. Each item is checked as far as possible when it arrives, and problems are kept with their index in the
 * request. After a hundred problems nothing more is written: the rest of the request is only read, and its problems counted.
 */
export class DraftedItems {
  readonly #itemsPerChunk: number;
  readonly #ledger: Pick<JobBook, 'draftJob'>;
  readonly #clock: Clock;
  readonly #faults: Faults;
  readonly #digest: Digest;
  /** Entries that are not valid items. */
  readonly shape = new ProblemList();
  /** Inputs that the scraper rejects, and repeated ids. */
  readonly inputs = new ProblemList();
  #scraper: CatalogScraper | null = null;
  #isOnlyRead = false;
  #draft: JobDraft | null = null;
  #writing: Promise<void> = Promise.resolve();
  #chunk: { readonly item: NewItem; readonly index: number }[] = [];
  #chunkBytes = 0;
  #handedOverAt: number;
  /** Items in the draft. */
  #total = 0;
  /** Indexes of items that are not in the draft. */
  readonly #leftOut: number[] = [];
  /** Digest of all entries so far, in order. */
  #chain = '';

  constructor(deps: DraftedItemsDeps, itemsPerChunk = ITEMS_PER_CHUNK) {
    this.#itemsPerChunk = itemsPerChunk;
    this.#ledger = deps.ledger;
    this.#clock = deps.clock;
    this.#faults = deps.faults;
    this.#digest = deps.digest;
    this.#handedOverAt = deps.clock.elapsed();
  }

  /** No job will be created; the rest of the request is still read and counted. */
  onlyRead(): void {
    this.#isOnlyRead = true;
  }

  /** From now on, inputs are checked as they arrive. */
  checkWith(scraper: CatalogScraper): void {
    this.#scraper = scraper;
  }

  async take(index: number, value: unknown, bytes: number): Promise<void> {
    this.#chain = this.#digest(`${this.#chain}${canonicalJson(value)}`);
    const item = this.#checked(index, value);
    if (item === null) {
      this.#leaveOut(index);
      return;
    }
    if (this.#isOnlyRead) return;
    this.#chunk.push({ item, index });
    this.#chunkBytes += bytes;
    if (this.#chunk.length >= this.#itemsPerChunk || this.#chunkBytes >= BYTES_PER_CHUNK) await this.handOver();
  }

  /** An entry that is too long. */
  refuse(index: number): void {
    this.shape.add([{ path: `items.${index}`, message: `is longer than ${MAX_RECORD_BYTES / 2 ** 20} MiB` }]);
    this.#leaveOut(index);
  }

  async handOverIfDue(): Promise<void> {
    if (this.#clock.elapsed() - this.#handedOverAt >= HAND_OVER_AFTER_MS) await this.handOver();
  }

  /** Resolves when the previous chunk is written and other tasks have run. */
  async handOver(): Promise<void> {
    const chunk = this.#chunk;
    this.#chunk = [];
    this.#chunkBytes = 0;
    this.#handedOverAt = this.#clock.elapsed();
    await this.#writing;
    if (this.#isOnlyRead) return;
    this.#writing = this.#write(chunk);
    // Its failure is thrown where it is awaited; the bytes may end first.
    this.#writing.catch(() => {});
    await this.#clock.turn();
  }

  /** Writes the last chunk: afterwards, all problems of the draft are known. */
  async finish(): Promise<void> {
    await this.handOver();
    await this.#writing;
  }

  /** Checks everything in the draft: the scraper was not known when the items arrived. */
  async checkAll(scraper: CatalogScraper): Promise<void> {
    for (let first = 0; first < this.#total; ) {
      const items = (await this.#draft?.items(first, CHECKED_AT_ONCE)) ?? [];
      if (items.length === 0) throw new Error(`the draft has ${first} items, and not ${this.#total}`);
      for (const [at, { input }] of items.entries()) {
        this.inputs.add(inputProblems(scraper, input, this.#indexOf(first + at)));
      }
      first += items.length;
      await this.#clock.turn();
    }
  }

  /** The same text for the same request, however it is formatted. */
  submission(fields: Readonly<Record<string, unknown>>): string {
    return this.#digest(canonicalJson({ ...fields, items: this.#chain }));
  }

  async commit(job: NewJob, now: number) {
    if (this.#isOnlyRead) throw new Error('items that were only read cannot become a job');
    this.#draft ??= await this.#ledger.draftJob();
    return await this.#draft.commit(job, now);
  }

  /** Drops the draft unless it was committed. If that fails, the ledger removes it later. */
  async end(): Promise<void> {
    await this.#writing.catch(() => {});
    await this.#draft?.drop().catch(() => {});
  }

  /** Null if it is not valid. */
  #checked(index: number, value: unknown): NewItem | null {
    const made = parseNewItem(value, index);
    if ('problems' in made) {
      this.shape.add(made.problems);
      return null;
    }
    const problems = this.#scraper === null ? [] : inputProblems(this.#scraper, made.item.input, index);
    this.inputs.add(problems);
    return problems.length === 0 ? made.item : null;
  }

  async #write(chunk: readonly { readonly item: NewItem; readonly index: number }[]): Promise<void> {
    if (chunk.length === 0) return;
    this.#draft ??= await this.#ledger.draftJob();
    const repeated = await this.#draft.add(
      this.#total,
      chunk.map(({ item }) => item),
    );
    this.#total += chunk.length - repeated.length;
    for (const { index: at } of repeated) this.#leaveOut(chunk[at]?.index ?? 0);
    const problems = repeated.map(({ index: at, first, differs }) => {
      const { item, index } = chunk[at] ?? chunkLacks(at);
      return repeatedProblem(item.itemId, index, this.#indexOf(first), differs);
    });
    this.inputs.add(problems);
    await this.#faults.at('between-draft-chunks');
  }

  /** Recorded only while positions in the draft matter: with many problems, items are no longer looked up. */
  #leaveOut(index: number): void {
    if (this.shape.count + this.inputs.count > MAX_PROBLEMS) this.onlyRead();
    if (!this.#isOnlyRead) this.#leftOut.push(index);
  }

  /** The index in the request of the item at this position in the draft. */
  #indexOf(position: number): number {
    let index = position;
    for (const leftOut of this.#leftOut.sort((one, other) => one - other)) {
      if (leftOut > index) break;
      index += 1;
    }
    return index;
  }
}

/** The first problems, and the total number. */
class ProblemList {
  readonly #first: FieldError[] = [];
  count = 0;

  /** Sorted by index: repeated ids are found a chunk later than other problems. */
  get first(): readonly FieldError[] {
    return this.#first.toSorted((one, other) => indexIn(one) - indexIn(other));
  }

  add(problems: readonly FieldError[]): void {
    this.count += problems.length;
    this.#first.push(...problems.slice(0, MAX_PROBLEMS - this.#first.length));
  }
}

/** `items.3.input.apn`: 3. */
function indexIn({ path }: FieldError): number {
  return Number(path.split('.')[1]);
}

function chunkLacks(at: number): never {
  throw new Error(`the chunk has no item ${at}`);
}
