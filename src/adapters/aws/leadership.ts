import type { Leadership } from '../../ports/leadership.ts';
import { num, text } from './dynamo/attributes.ts';
import type { Table } from './dynamo/table.ts';

const ROW = { pk: 'LEADER', sk: 'LEADER' };

/** A row that is taken by whoever finds it free. Taking it twice is no harm, so a lost reply is none either. */
export class DynamoLeadership implements Leadership {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async lead(holder: string, until: number, now: number): Promise<boolean> {
    const names = { '#holder': 'holder', '#until': 'until', '#pk': 'pk' };
    return await this.#table.update(
      ROW,
      'SET #holder = :holder, #until = :until',
      { names, values: { ':holder': text(holder), ':until': num(until), ':now': num(now) } },
      { expression: 'attribute_not_exists(#pk) OR #holder = :holder OR #until <= :now' },
    );
  }

  async resign(holder: string): Promise<void> {
    const names = { '#holder': 'holder' };
    await this.#table.remove(ROW, {
      expression: '#holder = :holder',
      with: { names, values: { ':holder': text(holder) } },
    });
  }
}
