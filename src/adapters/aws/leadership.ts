import { latest } from '../../domain/due.ts';
import type { Lead, Leadership } from '../../ports/leadership.ts';
import { num, text } from './dynamo/attributes.ts';
import { setting } from './dynamo/expressions.ts';
import type { Table } from './dynamo/table.ts';

const ROW = { pk: 'LEADER', sk: 'LEADER' };

/**
 * A row that the first controller to find it free takes. Taking it twice does no harm, and so neither does a lost
 * reply: that it was taken from another holder is in the row, and stays there until it resigns.
 */
export class DynamoLeadership implements Leadership {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async lead(holder: string, until: number, now: number): Promise<Lead> {
    const taken = { holder: text(holder), until: num(until) };
    const isOurs = await this.#table.update(ROW, setting(taken), {
      expression: 'attribute_not_exists(#pk) OR #holder = :holder',
    });
    if (isOurs) return (await this.#table.get(ROW))?.['overtook'] === undefined ? 'leads' : 'overtook';
    const isTaken = await this.#table.update(
      ROW,
      setting({ ...taken, overtook: { BOOL: true } }),
      // See `isDue`.
      {
        expression: '#until <= :ifNow OR #until > :ifLatest',
        values: { ':ifNow': num(now), ':ifLatest': num(latest(now, until - now)) },
      },
    );
    return isTaken && 'overtook';
  }

  async resign(holder: string): Promise<void> {
    await this.#table.remove(ROW, { expression: '#holder = :ifHolder', values: { ':ifHolder': text(holder) } });
  }
}
