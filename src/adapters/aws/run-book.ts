import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  afterRunChange,
  pageOfRuns,
  type RunChange,
  type RunItem,
  type RunItemUpdate,
  type RunQuery,
  type RunRecord,
  runItemState,
} from '../../domain/scrape-run.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  AddRunItemsAnswer,
  RunBook,
  RunDraft,
  RunItemPage,
  RunItemQuery,
  RunList,
  UpdateRunItemsAnswer,
} from '../../ports/run-book.ts';
import { atOnce } from './at-once.ts';
import { num, textOf } from './dynamo/attributes.ts';
import { IS_NEW, IS_THERE, sameVersion, setting } from './dynamo/expressions.ts';
import { Table } from './dynamo/table.ts';
import { DynamoRunDraft } from './runs/run-draft.ts';
import { RunGarbage } from './runs/run-garbage.ts';
import {
  incOf,
  partsOfPlace,
  placeIn,
  RUN_SHARDS,
  runItemsPk,
  runKey,
  runsOfDomainPk,
  statesSk,
  urlKey,
  urlsSk,
} from './runs/run-keys.ts';
import {
  chunkRows,
  cutIntoChunks,
  documentOf,
  endingOf,
  OPEN,
  type StoredRun,
  statesOf,
  storedRunOf,
  urlsOf,
} from './runs/run-rows.ts';
import { RunUpdates } from './runs/run-updates.ts';

/** See `runs/run-keys.ts` for the rows. */
export class DynamoRunBook implements RunBook {
  readonly #table: Table;
  readonly #clock: Clock;
  readonly #garbage: RunGarbage;
  readonly #updates: RunUpdates;

  constructor({ dynamo, tableName, clock }: { dynamo: DynamoDBClient; tableName: string; clock: Clock }) {
    this.#table = new Table(dynamo, tableName, clock);
    this.#clock = clock;
    this.#garbage = new RunGarbage(this.#table, clock);
    this.#updates = new RunUpdates(this.#table, clock);
  }

  async draft(): Promise<RunDraft> {
    return new DynamoRunDraft(this.#table, this.#garbage, this.#clock);
  }

  async run(id: string): Promise<RunRecord | null> {
    return (await this.#stored(id))?.run ?? null;
  }

  async list(query: RunQuery): Promise<RunList> {
    const keys = query.domain === undefined ? RUN_SHARDS : [runsOfDomainPk(query.domain)];
    const rows = await atOnce(RUN_SHARDS.length, keys, (pk) => this.#table.all({ pk }));
    return pageOfRuns(
      rows.flat().map((row) => storedRunOf(row).run),
      query,
    );
  }

  /** Reads what is known of items, 200 bytes for ninety of them, and the URLs of those that are asked for. */
  async items(id: string, { state, after, limit }: RunItemQuery): Promise<RunItemPage> {
    const first = after === null ? 0 : Number(after) + 1;
    if (!Number.isSafeInteger(first) || (await this.#stored(id)) === null) return { items: [], next: null };
    const pk = runItemsPk(incOf(id));
    const found: { readonly place: number; readonly item: Omit<RunItem, 'url'> }[] = [];
    const range = { pk, from: statesSk(partsOfPlace(first).chunk), to: LAST_STATES, ...(state === null && FEW_ROWS) };
    search: for await (const rows of this.#table.pages(range)) {
      for (const row of rows) {
        const chunk = Number(textOf(row, 'sk').slice(2));
        for (const [index, item] of statesOf(row).entries()) {
          const place = placeIn(chunk, index);
          if (place < first || (state !== null && runItemState(item) !== state)) continue;
          found.push({ place, item });
          if (found.length > limit) break search;
        }
      }
    }
    const page = found.slice(0, limit);
    const urls = await this.#urls(pk, new Set(page.map(({ place }) => partsOfPlace(place).chunk)));
    const items = page.map(({ place, item }) => {
      const { chunk, index } = partsOfPlace(place);
      return { ...item, url: urls.get(chunk)?.[index] ?? '' };
    });
    return { items, next: found.length > limit ? String(page.at(-1)?.place) : null };
  }

  async add(id: string, urls: readonly string[], now: number): Promise<AddRunItemsAnswer> {
    let added = 0;
    for (const chunk of cutIntoChunks([...new Set(urls)])) {
      const answer = await this.#addChunk(id, chunk, now);
      if (typeof answer === 'string') return { kind: answer };
      added += answer;
    }
    return { kind: 'added', added, known: urls.length - added };
  }

  /** Two that add the same URL at the same time are told apart by its row, and two that add any by the number of chunks. */
  async #addChunk(id: string, urls: readonly string[], now: number): Promise<number | 'missing' | 'ended'> {
    const inc = incOf(id);
    for (let tries = 0; ; tries += 1) {
      const stored = await this.#stored(id);
      const key = runKey(id);
      if (stored === null || key === null) return 'missing';
      if (stored.run.endedAt !== null) return 'ended';
      const known = await this.#table.getAll(urls.map((url) => urlKey(inc, url)));
      const fresh = urls.filter((_, index) => known[index] === null);
      if (fresh.length === 0) return 0;
      const { chunks } = stored;
      const rows = chunkRows(inc, chunks, fresh, this.#clock.id());
      const answer = await this.#table.transact([
        {
          update: key,
          change: 'SET #updatedAt = :updatedAt, #chunks = :chunks ADD #total :added',
          values: { ':updatedAt': num(now), ':chunks': num(chunks + 1), ':added': num(fresh.length) },
          when: {
            expression: '#chunks = :ifChunks AND #ending = :ifOpen',
            values: { ':ifChunks': num(chunks), ':ifOpen': OPEN },
          },
        },
        ...rows.items.map((row) => ({ put: row, when: IS_NEW })),
        ...rows.urls.map((row) => ({ put: row, when: IS_NEW })),
      ]);
      if (answer.kind === 'done') return fresh.length;
      await this.#table.pause(tries);
    }
  }

  async update(id: string, updates: readonly RunItemUpdate[], now: number): Promise<UpdateRunItemsAnswer> {
    const key = runKey(id);
    if (key === null || (await this.#stored(id)) === null) return { kind: 'missing' };
    const answer = await this.#updates.apply(key, incOf(id), updates, now);
    return answer === null ? { kind: 'missing' } : { kind: 'updated', ...answer };
  }

  /** After a lost reply the call is repeated, and finds what it wrote itself: then nothing is left to change. */
  async change(id: string, change: RunChange, now: number): Promise<RunRecord | null> {
    for (let tries = 0; ; tries += 1) {
      const stored = await this.#stored(id);
      const key = runKey(id);
      if (stored === null || key === null) return null;
      const { run, version } = stored;
      const next = afterRunChange(run, change, now);
      if (next === run) return run;
      const attributes = setting({
        document: documentOf(next),
        ending: endingOf(next),
        updatedAt: num(next.updatedAt),
        version: num(version + 1),
        // A run that is reopened is processing, also if none of its items was ever reported.
        ...(change.kind === 'reopen' && { begun: { BOOL: true } }),
      });
      if (await this.#table.update(key, attributes, sameVersion(version))) return (await this.run(id)) ?? next;
      await this.#table.pause(tries);
    }
  }

  async remove(id: string): Promise<boolean> {
    const key = runKey(id);
    if (key === null) return false;
    const inc = incOf(id);
    const removed = { remove: key, when: IS_THERE };
    const answer = await this.#table.transact([removed, this.#garbage.removedAction(inc)]);
    if (answer.kind === 'refused') return false;
    await this.#garbage.purge(inc);
    return true;
  }

  sweep(): Promise<void> {
    return this.#garbage.sweep();
  }

  async #stored(id: string): Promise<StoredRun | null> {
    const key = runKey(id);
    const row = key && (await this.#table.get(key));
    return row && storedRunOf(row);
  }

  async #urls(pk: string, chunks: ReadonlySet<number>): Promise<ReadonlyMap<number, readonly string[]>> {
    const names = [...chunks];
    const rows = await this.#table.getAll(names.map((chunk) => ({ pk, sk: urlsSk(chunk) })));
    return new Map(rows.flatMap((row, at) => (row === null ? [] : [[names[at] ?? 0, urlsOf(row)] as const])));
  }
}

/** Sorted after all rows of states. */
const LAST_STATES = 'S#\uffff';
/** Without a filter every row has items of the page: no more rows than for a page are read at a time. */
const FEW_ROWS = { limit: 12 };
