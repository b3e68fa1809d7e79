import {
  ROW_KINDS,
  type RowChange,
  type RowKind,
  type RowName,
  type RowPage,
  type SiteRows,
} from '../../ports/site-rows.ts';
import type { Committer } from './ledger/committer.ts';
import type { Statements } from './ledger/statements.ts';

/** Rows that are removed in one turn of the event loop. */
const REMOVED_AT_ONCE = 500;

/** A row each in one table, found by kind, site and name. */
export class EmbeddedSiteRows<Document> implements SiteRows<Document> {
  readonly #sql: Statements;
  readonly #committer: Committer;
  readonly #kind: RowKind;

  constructor(sql: Statements, committer: Committer, kind: RowKind) {
    this.#sql = sql;
    this.#committer = committer;
    this.#kind = kind;
  }

  get(names: readonly RowName[]): Promise<readonly (Document | null)[]> {
    return this.#committer.readTogether(() => {
      // A site without a failing page, or a new one, has none: that need not be asked for each name.
      const sites = new Set(names.map(({ site }) => site).filter((site) => this.#hasRows(site)));
      return names.map((name) => (sites.has(name.site) ? this.#read(name) : null));
    });
  }

  /** One change of the ledger per row, so that a long list does not stop it. */
  change(changes: readonly RowChange<Document>[]): Promise<readonly (Document | null)[]> {
    return Promise.all(changes.map((change) => this.#commit(() => this.#change(change))));
  }

  page(site: string, after: string | null, limit: number): Promise<RowPage<Document>> {
    return this.#committer.read(() => {
      const found = this.#sql.siteRowsAfter.all(this.#kind, site, after ?? '', limit + 1);
      const rows = found.slice(0, limit);
      const last = rows.at(-1)?.['name'];
      return { rows: rows.map(documentOf<Document>), next: found.length > limit ? String(last) : null };
    });
  }

  /** From one site to the next: their rows are not read. */
  sites(after: string | null, limit: number): Promise<readonly string[]> {
    return this.#committer.readTogether(() => {
      const sites: string[] = [];
      while (sites.length < limit) {
        const next = this.#sql.siteWithRowsAfter.get(this.#kind, sites.at(-1) ?? after ?? '');
        if (next === undefined) break;
        sites.push(String(next['site']));
      }
      return sites;
    });
  }

  async removeSite(site: string): Promise<number> {
    for (let removed = 0; ; ) {
      const some = await this.#commit(() =>
        Number(this.#sql.deleteSiteRows.run(this.#kind, site, this.#kind, site, REMOVED_AT_ONCE).changes),
      );
      removed += some;
      if (some < REMOVED_AT_ONCE) return removed;
    }
  }

  #commit<T>(work: () => T): Promise<T> {
    return ROW_KINDS[this.#kind] === 'durable' ? this.#committer.durable(work) : this.#committer.applied(work);
  }

  #hasRows(site: string): boolean {
    return this.#sql.siteHasRows.get(this.#kind, site) !== undefined;
  }

  #read({ site, name }: RowName): Document | null {
    const row = this.#sql.siteRow.get(this.#kind, site, name);
    return row === undefined ? null : documentOf(row);
  }

  #change({ row, apply }: RowChange<Document>): Document | null {
    const next = apply(this.#read(row));
    if (next === null) this.#sql.deleteSiteRow.run(this.#kind, row.site, row.name);
    else this.#sql.setSiteRow.run(this.#kind, row.site, row.name, JSON.stringify(next));
    return next;
  }
}

function documentOf<Document>(row: Readonly<Record<string, unknown>>): Document {
  return JSON.parse(String(row['document']));
}
