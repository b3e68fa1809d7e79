import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { NO_SITE, type StoredSite } from '../../domain/stored-site.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SiteBook } from '../../ports/site-book.ts';
import { json, jsonOf, text } from './dynamo/attributes.ts';
import { type Condition, IS_THERE, setting } from './dynamo/expressions.ts';
import { Table } from './dynamo/table.ts';
import { SITES } from './ledger/keys.ts';

/** A row per site, with one read unit for each 4 KB of all of them to find the site of a URL. */
export class DynamoSiteBook implements SiteBook {
  readonly #table: Table;

  constructor({ dynamo, tableName, clock }: { dynamo: DynamoDBClient; tableName: string; clock: Clock }) {
    this.#table = new Table(dynamo, tableName, clock);
  }

  async list(): Promise<readonly StoredSite[]> {
    const rows = await this.#table.all({ pk: SITES });
    return rows.map((row) => jsonOf<StoredSite>(row, 'document'));
  }

  async get(id: string): Promise<StoredSite | null> {
    const row = await this.#table.get({ pk: SITES, sk: id });
    return row && jsonOf<StoredSite>(row, 'document');
  }

  /** After a lost reply the call is repeated, and finds the version that it wrote itself. */
  async set(site: StoredSite, ifVersion?: string): Promise<'set' | 'other-version'> {
    const { id, version } = site;
    const change = setting({ document: json(site), version: text(version) });
    const isSet = await this.#table.update({ pk: SITES, sk: id }, change, condition(ifVersion));
    return isSet ? 'set' : 'other-version';
  }

  async remove(id: string): Promise<boolean> {
    return await this.#table.remove({ pk: SITES, sk: id }, IS_THERE);
  }
}

function condition(ifVersion: string | undefined): Condition {
  // Always holds: an update needs a condition.
  if (ifVersion === undefined) return { expression: 'attribute_not_exists(#pk) OR attribute_exists(#pk)' };
  if (ifVersion === NO_SITE) return { expression: 'attribute_not_exists(#pk) OR #version = :version' };
  return {
    expression: '#version = :ifVersion OR #version = :version',
    values: { ':ifVersion': text(ifVersion) },
  };
}
