import type { Digest } from '../../domain/artifact.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { NewItem } from '../../domain/item.ts';
import type { NewJob } from '../../domain/job.ts';
import { schemaProblems } from '../../domain/schema-problems.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { JobBook, JobDraft } from '../../ports/ledger.ts';
import type { CatalogScraper } from '../intake/scraper-catalog.ts';
import { MAX_RECORD_BYTES } from '../intake/split-records.ts';
import {
  inputGiven,
  itemOf,
  itemSchema,
  MAX_PROBLEMS,
  problemsOfInput,
  repeatedProblem,
  type SubmitProblem,
} from './submit.ts';

const ITEMS_PER_CHUNK = 1000;
const BYTES_PER_CHUNK = 2 ** 20;
/** A slow sender's items go into the draft this soon: a draft to which nothing is added is taken for a dead process's. */
const HAND_OVER_AFTER_MS = 30_000;
const LOOKED_AT_ONCE = 500;

export interface DraftedItemsParts {
  readonly ledger: Pick<JobBook, 'draftJob'>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly digest: Digest;
}

/**
 * The items of a large request on their way into a draft of the ledger, chunk by chunk; the next chunk is read while one
 * is being written. Each is checked as far as that is possible when it comes, and problems are kept by the index in the
 * request. From a hundred problems on nothing is written any more: the request is only read, and its problems counted.
 */
export class DraftedItems {
  readonly #itemsPerChunk: number;
  readonly #ledger: Pick<JobBook, 'draftJob'>;
  readonly #clock: Clock;
  readonly #faults: Faults;
  readonly #digest: Digest;
  /** Items that are not what an item is. */
  readonly shape = new ProblemList();
  /** Inputs that the scraper does not take, and ids that are given twice. */
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
  /** Of all entries so far, in order. */
  #chain = '';

  constructor(parts: DraftedItemsParts, itemsPerChunk = ITEMS_PER_CHUNK) {
    this.#itemsPerChunk = itemsPerChunk;
    this.#ledger = parts.ledger;
    this.#clock = parts.clock;
    this.#faults = parts.faults;
    this.#digest = parts.digest;
    this.#handedOverAt = parts.clock.elapsed();
  }

  /** Nothing is to be made of them; the rest of the request is still read and counted. */
  onlyRead(): void {
    this.#isOnlyRead = true;
  }

  /** From now on, inputs are checked as they come. */
  lookWith(scraper: CatalogScraper): void {
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

  /** An entry that is too long to be read. */
  refuse(index: number): void {
    this.shape.add([{ path: `items.${index}`, message: `is longer than ${MAX_RECORD_BYTES / 2 ** 20} MiB` }]);
    this.#leaveOut(index);
  }

  async handOverIfDue(): Promise<void> {
    if (this.#clock.elapsed() - this.#handedOverAt >= HAND_OVER_AFTER_MS) await this.handOver();
  }

  /** Resolves when the chunk before is written, and others have had their turn. */
  async handOver(): Promise<void> {
    const chunk = this.#chunk;
    this.#chunk = [];
    this.#chunkBytes = 0;
    this.#handedOverAt = this.#clock.elapsed();
    await this.#writing;
    if (this.#isOnlyRead) return;
    this.#writing = this.#write(chunk);
    // A caller that waits for it hears of its failure; the end of the bytes may come first.
    this.#writing.catch(() => {});
    await this.#clock.turn();
  }

  /** The last chunk is written: from now on, all problems that the draft can have are known. */
  async finish(): Promise<void> {
    await this.handOver();
    await this.#writing;
  }

  /** Looks at what is in the draft: the scraper was not known when the items came. */
  async lookAgain(scraper: CatalogScraper): Promise<void> {
    for (let first = 0; first < this.#total; ) {
      const items = (await this.#draft?.items(first, LOOKED_AT_ONCE)) ?? [];
      if (items.length === 0) throw new Error(`the draft has ${first} items, and not ${this.#total}`);
      for (const [at, { input }] of items.entries()) {
        this.inputs.add(problemsOfInput(scraper, input, this.#indexOf(first + at)));
      }
      first += items.length;
      await this.#clock.turn();
    }
  }

  /** One text for the same request, however it is written: its fields, and its items one after the other. */
  submission(fields: Readonly<Record<string, unknown>>): string {
    return this.#digest(canonicalJson({ ...fields, items: this.#chain }));
  }

  async commit(job: NewJob, now: number) {
    if (this.#isOnlyRead) throw new Error('items that were only read cannot become a job');
    this.#draft ??= await this.#ledger.draftJob();
    return await this.#draft.commit(job, now);
  }

  /** Nothing of the draft is left, unless it was committed. What cannot be removed now, the ledger removes later. */
  async end(): Promise<void> {
    await this.#writing.catch(() => {});
    await this.#draft?.drop().catch(() => {});
  }

  /** Null where there is something wrong with it. */
  #checked(index: number, value: unknown): NewItem | null {
    const parsed = itemSchema.safeParse(value);
    if (!parsed.success) {
      this.shape.add(
        schemaProblems(parsed.error).map(({ path, message }) => {
          return { path: path === '' ? `items.${index}` : `items.${index}.${path}`, message };
        }),
      );
      return null;
    }
    const made = itemOf(parsed.data.item_id, inputGiven(value) ?? parsed.data.input, index);
    if ('problem' in made) {
      this.shape.add([made.problem]);
      return null;
    }
    const problems = this.#scraper === null ? [] : problemsOfInput(this.#scraper, made.item.input, index);
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

  /** Kept only while places in the draft are of use: with many problems no item is looked up any more. */
  #leaveOut(index: number): void {
    if (this.shape.count + this.inputs.count > MAX_PROBLEMS) this.onlyRead();
    if (!this.#isOnlyRead) this.#leftOut.push(index);
  }

  /** The index in the request of the item that has this place in the draft. */
  #indexOf(place: number): number {
    let index = place;
    for (const leftOut of this.#leftOut.sort((one, other) => one - other)) {
      if (leftOut > index) break;
      index += 1;
    }
    return index;
  }
}

/** The first problems that were found, and how many there are. */
class ProblemList {
  readonly #first: SubmitProblem[] = [];
  count = 0;

  /** By their index in the request: repeated ids are found a chunk later than other problems. */
  get first(): readonly SubmitProblem[] {
    return this.#first.toSorted((one, other) => indexIn(one) - indexIn(other));
  }

  add(problems: readonly SubmitProblem[]): void {
    this.count += problems.length;
    this.#first.push(...problems.slice(0, MAX_PROBLEMS - this.#first.length));
  }
}

/** `items.3.input.apn`: 3. */
function indexIn({ path }: SubmitProblem): number {
  return Number(path.split('.')[1]);
}

function chunkLacks(at: number): never {
  throw new Error(`the chunk has no item ${at}`);
}
