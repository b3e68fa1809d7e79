import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type HostSettings, NO_SETTINGS } from '../../domain/host-settings.ts';
import type { Clock } from '../../ports/clock.ts';
import type { HostSettingsBook } from '../../ports/host-settings.ts';
import { json, jsonOf, text } from './dynamo/attributes.ts';
import { type Condition, IS_THERE, setting } from './dynamo/expressions.ts';
import { Table } from './dynamo/table.ts';
import { HOST_SETTINGS } from './ledger/keys.ts';

/** A row per host. Workers read all rows at once, every few seconds: nothing is read per request. */
export class DynamoHostSettings implements HostSettingsBook {
  readonly #table: Table;

  constructor({ dynamo, tableName, clock }: { dynamo: DynamoDBClient; tableName: string; clock: Clock }) {
    this.#table = new Table(dynamo, tableName, clock);
  }

  async list(): Promise<readonly HostSettings[]> {
    const rows = await this.#table.all({ pk: HOST_SETTINGS });
    return rows.map((row) => jsonOf<HostSettings>(row, 'document'));
  }

  async get(host: string): Promise<HostSettings | null> {
    const row = await this.#table.get({ pk: HOST_SETTINGS, sk: host });
    return row && jsonOf<HostSettings>(row, 'document');
  }

  /** After a lost reply the call is repeated, and finds the version that it wrote itself. */
  async set(settings: HostSettings, ifVersion?: string): Promise<'set' | 'other-version'> {
    const { host, version } = settings;
    const change = setting({ document: json(settings), version: text(version) });
    const isSet = await this.#table.update({ pk: HOST_SETTINGS, sk: host }, change, condition(ifVersion));
    return isSet ? 'set' : 'other-version';
  }

  async clear(host: string): Promise<boolean> {
    return await this.#table.remove({ pk: HOST_SETTINGS, sk: host }, IS_THERE);
  }
}

function condition(ifVersion: string | undefined): Condition {
  // Always holds: an update needs a condition.
  if (ifVersion === undefined) return { expression: 'attribute_not_exists(#pk) OR attribute_exists(#pk)' };
  if (ifVersion === NO_SETTINGS) return { expression: 'attribute_not_exists(#pk) OR #version = :version' };
  return {
    expression: '#version = :ifVersion OR #version = :version',
    values: { ':ifVersion': text(ifVersion) },
  };
}
