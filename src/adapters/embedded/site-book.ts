import { NO_SITE, type StoredSite } from '../../domain/stored-site.ts';
import type { SiteBook } from '../../ports/site-book.ts';
import type { Committer } from './ledger/committer.ts';
import type { Statements } from './ledger/statements.ts';

/** A row per site, beside the jobs. */
export class EmbeddedSiteBook implements SiteBook {
  readonly #sql: Statements;
  readonly #committer: Committer;

  constructor(sql: Statements, committer: Committer) {
    this.#sql = sql;
    this.#committer = committer;
  }

  list(): Promise<readonly StoredSite[]> {
    return this.#committer.read(() => this.#sql.sites.all().map(siteOf));
  }

  get(id: string): Promise<StoredSite | null> {
    return this.#committer.read(() => this.#row(id));
  }

  set(site: StoredSite, ifVersion?: string): Promise<'set' | 'other-version'> {
    return this.#committer.durable(() => {
      const version = this.#row(site.id)?.version ?? NO_SITE;
      if (ifVersion !== undefined && version !== ifVersion && version !== site.version) return 'other-version';
      this.#sql.setSite.run(site.id, JSON.stringify(site));
      return 'set';
    });
  }

  remove(id: string): Promise<boolean> {
    return this.#committer.durable(() => Number(this.#sql.deleteSite.run(id).changes) === 1);
  }

  #row(id: string): StoredSite | null {
    const row = this.#sql.site.get(id);
    return row === undefined ? null : siteOf(row);
  }
}

function siteOf(row: Readonly<Record<string, unknown>>): StoredSite {
  return JSON.parse(String(row['document']));
}
