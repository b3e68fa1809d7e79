import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type HostPause, MAX_PAUSE_MS } from '../../domain/host-pause.ts';
import type { Clock } from '../../ports/clock.ts';
import type { HostPauses } from '../../ports/host-pauses.ts';
import { num, numOf, type Row, text, textOf } from './dynamo/attributes.ts';
import { setting } from './dynamo/expressions.ts';
import { Table } from './dynamo/table.ts';
import { PAUSED_HOSTS } from './ledger/keys.ts';
import { TABLE_SCHEMA } from './table-schema.ts';

/** The row of an expired pause stays for this long, in case clocks differ; then DynamoDB removes it. */
const KEPT_MS = 3_600_000;

/**
 * A row per paused host. A report is one write, and workers read all rows at once, every few seconds: nothing is
 * written or read per request. Reports may be repeated, so a lost reply does no harm.
 */
export class DynamoHostPauses implements HostPauses {
  readonly #table: Table;

  constructor({ dynamo, tableName, clock }: { dynamo: DynamoDBClient; tableName: string; clock: Clock }) {
    this.#table = new Table(dynamo, tableName, clock);
  }

  async pause(...[{ host, until, reason, at }, worker, now]: Parameters<HostPauses['pause']>): Promise<void> {
    const key = { pk: PAUSED_HOSTS, sk: host };
    const workers = { ':workers': { SS: [worker] } };
    const values = { ...workers, ':until': num(until), ':reason': text(reason), ':goneAt': goneAt(until) };
    const set = `SET #until = :until, #reason = :reason, #${TABLE_SCHEMA.ttl} = :goneAt`;
    const over = { ':now': num(now), ':latest': num(now + MAX_PAUSE_MS), ':at': num(at) };
    const isNew = await this.#table.update(
      key,
      { change: `${set}, #workers = :workers REMOVE #liftedAt`, values: { ...values, ...over } },
      { expression: 'attribute_not_exists(#until) OR #until <= :now OR #until > :latest OR #liftedAt < :at' },
    );
    if (isNew) return;
    const isLonger = await this.#table.update(
      key,
      { change: `${set} ADD #workers :workers`, values },
      { expression: '#until < :until AND attribute_not_exists(#liftedAt)' },
    );
    if (isLonger) return;
    await this.#table.update(
      key,
      { change: 'ADD #workers :workers', values: workers },
      { expression: 'attribute_exists(#until) AND attribute_not_exists(#liftedAt)' },
    );
  }

  async inForce(now: number): Promise<readonly HostPause[]> {
    const rows = await this.#table.all({ pk: PAUSED_HOSTS });
    return rows
      .filter((row) => row['liftedAt'] === undefined)
      .map(pauseOf)
      .filter(({ until }) => until > now && until <= now + MAX_PAUSE_MS);
  }

  /** The row stays, so that a report of an earlier answer does not undo it. */
  async lift(host: string, now: number): Promise<boolean> {
    return await this.#table.update({ pk: PAUSED_HOSTS, sk: host }, setting({ liftedAt: num(now) }), {
      expression: '#until > :liftedAt AND attribute_not_exists(#liftedAt)',
    });
  }
}

function goneAt(until: number) {
  return num(Math.ceil((until + KEPT_MS) / 1000));
}

function pauseOf(row: Row): HostPause {
  return {
    host: textOf(row, 'sk'),
    until: numOf(row, 'until'),
    reason: textOf(row, 'reason'),
    reportedBy: row['workers']?.SS?.length ?? 0,
  };
}
