import { hash } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../ports/clock.ts';
import type { RowChange, RowKind, RowName, RowPage, SiteRows } from '../../ports/site-rows.ts';
import { atOnce } from './at-once.ts';
import { json, jsonOf, type Key, type Row, text, textOf } from './dynamo/attributes.ts';
import { IS_NEW, setting } from './dynamo/expressions.ts';
import { Table } from './dynamo/table.ts';
import { siteRowsPk, sitesWithRowsPk } from './ledger/keys.ts';

/** Concurrent changes. */
const CHANGES_AT_ONCE = 16;

/** A sort key has at most 1,024 bytes, and a character up to three or, as a pair, four. */
const LONGEST_NAME = 1000;
const STEM_LENGTH = 300;

/**
 * One row each. A cached page is one read unit and one write unit, because its row is below 1 KB. Rows of one site are
 * in one partition, which takes a thousand writes a second: far more than a site can be asked for.
 * A change is conditional on the row being unchanged since it was read. Every write has its own mark, so that one whose
 * reply was lost is recognised and not repeated.
 */
export class DynamoSiteRows<Document> implements SiteRows<Document> {
  readonly #table: Table;
  readonly #clock: Clock;
  readonly #kind: RowKind;
  /** Sites that this process has put into the directory. They stay in it: other processes rely on it in the same way. */
  readonly #listed = new Set<string>();

  constructor(
    { dynamo, tableName, clock }: { dynamo: DynamoDBClient; tableName: string; clock: Clock },
    kind: RowKind,
  ) {
    this.#table = new Table(dynamo, tableName, clock);
    this.#clock = clock;
    this.#kind = kind;
  }

  async get(names: readonly RowName[]): Promise<readonly (Document | null)[]> {
    const rows = await this.#table.getAll(names.map((name) => this.#key(name)));
    return rows.map(documentOf<Document>);
  }

  async change(changes: readonly RowChange<Document>[]): Promise<readonly (Document | null)[]> {
    await this.#list(new Set(changes.map(({ row }) => row.site)));
    const known = await this.#table.getAll(changes.map(({ row }) => this.#key(row)));
    // Changes of one row are made one after another: each is based on the result of the previous one.
    const chains = new Map<string, { readonly change: RowChange<Document>; readonly at: number }[]>();
    for (const [at, change] of changes.entries()) {
      const { pk, sk } = this.#key(change.row);
      const name = `${pk}\n${sk}`;
      chains.set(name, [...(chains.get(name) ?? []), { change, at }]);
    }
    const answers = new Array<Document | null>(changes.length).fill(null);
    await atOnce(CHANGES_AT_ONCE, [...chains.values()], async (chain) => {
      for (const [turn, { change, at }] of chain.entries()) {
        const row = turn === 0 ? (known[at] ?? null) : await this.#table.get(this.#key(change.row));
        answers[at] = await this.#change(change, row);
      }
    });
    return answers;
  }

  async page(site: string, after: string | null, limit: number): Promise<RowPage<Document>> {
    const query = { pk: siteRowsPk(this.#kind, site), ...(after === null ? {} : { after }) };
    const found = await this.#table.first(query, limit + 1);
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    return {
      rows: rows.map((row) => jsonOf<Document>(row, 'document')),
      next: found.length > limit && last !== undefined ? textOf(last, 'sk') : null,
    };
  }

  async sites(after: string | null, limit: number): Promise<readonly string[]> {
    const query = { pk: sitesWithRowsPk(this.#kind), ...(after === null ? {} : { after }) };
    return (await this.#table.first(query, limit)).map((row) => textOf(row, 'sk'));
  }

  async removeSite(site: string): Promise<number> {
    let removed = 0;
    for await (const rows of this.#table.pages({ pk: siteRowsPk(this.#kind, site) })) {
      await this.#table.removeAll(rows.map((row) => ({ pk: textOf(row, 'pk'), sk: textOf(row, 'sk') })));
      removed += rows.length;
    }
    return removed;
  }

  async #change({ row: name, apply }: RowChange<Document>, first: Row | null): Promise<Document | null> {
    const key = this.#key(name);
    const mark = this.#clock.id();
    let row = first;
    for (let tries = 0; ; tries += 1) {
      const next = apply(documentOf<Document>(row));
      if (await this.#write(key, row, next, mark)) return next;
      await this.#table.pause(tries);
      row = await this.#table.get(key);
      // Our own write, whose reply was lost.
      if (row !== null && textOf(row, 'mark') === mark) return documentOf(row);
    }
  }

  async #write(key: Key, row: Row | null, next: Document | null, mark: string): Promise<boolean> {
    const same = row === null ? IS_NEW : { expression: '#mark = :ifMark', values: { ':ifMark': markOf(row) } };
    if (next !== null) return await this.#table.update(key, setting({ document: json(next), mark: text(mark) }), same);
    return row === null || (await this.#table.remove(key, same));
  }

  async #list(sites: ReadonlySet<string>): Promise<void> {
    const unlisted = [...sites].filter((site) => !this.#listed.has(site));
    await this.#table.putAll(unlisted.map((site) => ({ pk: text(sitesWithRowsPk(this.#kind)), sk: text(site) })));
    for (const site of unlisted) this.#listed.add(site);
  }

  #key({ site, name }: RowName): Key {
    const isShort = Buffer.byteLength(name) <= LONGEST_NAME;
    return {
      pk: siteRowsPk(this.#kind, site),
      sk: isShort ? name : `${name.slice(0, STEM_LENGTH).toWellFormed()}~${hash('sha256', name)}`,
    };
  }
}

function documentOf<Document>(row: Row | null): Document | null {
  return row && jsonOf<Document>(row, 'document');
}

function markOf(row: Row) {
  return text(textOf(row, 'mark'));
}
