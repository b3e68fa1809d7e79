import type { Clock } from '../../../ports/clock.ts';
import type { LedgerChange } from '../../../ports/ledger.ts';
import { bytes, bytesOf, num, text, textOf } from '../dynamo/attributes.ts';
import { packJson, unpackJson } from '../dynamo/packing.ts';
import type { Table } from '../dynamo/table.ts';
import { newsPk } from './keys.ts';

/**
 * Distributes changes. Listeners hear of those made through this ledger at once; they are also left in the table for an
 * hour, a row for each that others may want to know of, and a ledger that listens reads them four times a second, those
 * of all jobs together. So a controller refills a freed slot, and a watcher sees items end, wherever the worker runs.
 * News are hints: what is lost is found by looking from time to time.
 */
export class News {
  readonly #deps: NewsDeps;
  readonly #source: string;
  readonly #shard: number;
  readonly #listeners = new Set<(change: LedgerChange) => void>();
  readonly #stop = new AbortController();
  readonly #sending = new Set<Promise<void>>();
  /** By `elapsed()`; news from any process. */
  #lastNewsAt: number;
  #listening: Promise<void> | null = null;

  constructor(deps: NewsDeps) {
    this.#deps = deps;
    this.#source = deps.clock.id();
    this.#shard = Math.floor(deps.clock.chance() * SHARDS);
    this.#lastNewsAt = deps.clock.elapsed();
  }

  subscribe(listener: (change: LedgerChange) => void): () => void {
    this.#listeners.add(listener);
    if (this.#deps.listenEveryMs !== null) this.#listening ??= this.#listen(this.#deps.listenEveryMs);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  tell(changes: readonly LedgerChange[]): void {
    this.#lastNewsAt = this.#deps.clock.elapsed();
    this.#tellHere(changes);
    const forOthers = changes.filter(({ kind }) => kind !== 'dispatched' && kind !== 'claimed');
    if (forOthers.length === 0) return;
    const sending = this.#send(forOthers)
      .catch((error: unknown) => this.#deps.onTrouble('news', error))
      .finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#listening, ...this.#sending]);
  }

  #tellHere(changes: readonly LedgerChange[]): void {
    for (const change of changes) for (const listener of this.#listeners) listener(change);
  }

  async #send(changes: readonly LedgerChange[]): Promise<void> {
    const { table, clock } = this.#deps;
    const [packed, ...tooMuch] = packJson(changes);
    if (packed === undefined || tooMuch.length > 0) return;
    await table.put({
      pk: text(newsPk(this.#shard)),
      sk: text(`${timeName(clock.now())}#${clock.id()}#${this.#source}`),
      packed: bytes(packed),
      goneAt: num(Math.floor(clock.now() / 1000) + KEPT_SECONDS),
    });
  }

  async #listen(everyMs: number): Promise<void> {
    const { clock, onTrouble } = this.#deps;
    const { signal } = this.#stop;
    const begunAt = clock.now();
    const heard = Array.from({ length: SHARDS }, (): Heard => ({ after: begunAt, known: new Set() }));
    while (!signal.aborted) {
      try {
        await Promise.all(heard.map((each, shard) => this.#hear(shard, each)));
      } catch (error) {
        onTrouble('news', error);
      }
      // While nothing happens, news are read less often.
      const isIdle = clock.elapsed() - this.#lastNewsAt > IDLE_AFTER_MS;
      await clock.sleep(isIdle ? IDLE_FACTOR * everyMs : everyMs, signal);
    }
  }

  /**
   * Rows are named by the clocks of their writers, which differ a little: so it always looks again at rows a little
   * older than the newest it knows. A writer whose clock is far ahead must not make us miss all the others: its rows
   * are remembered and read again until our own clock has caught up.
   */
  async #hear(shard: number, heard: Heard): Promise<void> {
    const { table, clock } = this.#deps;
    const now = clock.now();
    const known = new Set<string>();
    let newest = heard.after;
    const from = timeName(heard.after - CLOCKS_DIFFER_MS);
    for await (const rows of table.pages({ pk: newsPk(shard), from, mayBeBehind: true })) {
      for (const row of rows) {
        const sk = textOf(row, 'sk');
        known.add(sk);
        newest = Math.max(newest, timeOf(sk));
        if (heard.known.has(sk) || sk.endsWith(this.#source)) continue;
        this.#lastNewsAt = clock.elapsed();
        this.#tellHere(unpackJson<readonly LedgerChange[]>([bytesOf(row, 'packed')]));
      }
    }
    heard.known = known;
    heard.after = Math.min(newest, now);
  }
}

/** How far news have been read. */
interface Heard {
  after: number;
  /** Rows that are read again and were already reported. */
  known: ReadonlySet<string>;
}

interface NewsDeps {
  readonly table: Table;
  readonly clock: Clock;
  /** Null: this process does not listen for the changes of others. */
  readonly listenEveryMs: number | null;
  readonly onTrouble: (where: string, error: unknown) => void;
}

const KEPT_SECONDS = 3600;
/** A partition takes a thousand writes a second, and a row of news is one or two. */
const SHARDS = 2;
const IDLE_AFTER_MS = 10_000;
const IDLE_FACTOR = 4;
const CLOCKS_DIFFER_MS = 2000;

function timeName(ms: number): string {
  return String(Math.max(0, Math.round(ms))).padStart(15, '0');
}

function timeOf(sk: string): number {
  return Number(sk.slice(0, sk.indexOf('#')));
}
