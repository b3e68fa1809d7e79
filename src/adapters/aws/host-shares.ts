import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { bookEndsAt, EMPTY_BOOK, type LineBook, type LineShare, reserve } from '../../domain/line-book.ts';
import { packLineBook, unpackLineBook } from '../../domain/pack-line-book.ts';
import type { Clock } from '../../ports/clock.ts';
import type { HostShares, NamedAsk } from '../../ports/host-shares.ts';
import { num, numOf, text, textOf } from './dynamo/attributes.ts';
import { type Condition, IS_NEW, sameVersion, setting } from './dynamo/expressions.ts';
import { Table } from './dynamo/table.ts';
import { lineKey } from './ledger/keys.ts';
import { TABLE_SCHEMA } from './table-schema.ts';

/** An expired row stays for this long, in case clocks differ; then DynamoDB removes it. */
const KEPT_MS = 3_600_000;

/** A process visits few hosts at a time; beyond this it reads again rather than growing. */
const MAX_KNOWN_LINES = 1000;

/**
 * A row per line, with a version. A reservation is one conditional write; if another process was faster, the row is
 * read and the reservation repeated. The row is not read first while this process was the last to write it. A write
 * whose reply was lost is treated as another process's: what it reserved is not used, but not given to another either.
 */
export class DynamoHostShares implements HostShares {
  readonly #table: Table;
  readonly #known = new Map<string, Known>();

  constructor({ dynamo, tableName, clock }: { dynamo: DynamoDBClient; tableName: string; clock: Clock }) {
    this.#table = new Table(dynamo, tableName, clock);
  }

  async reserve(process: string, asks: readonly NamedAsk[], now: number): Promise<readonly LineShare[]> {
    return await Promise.all(asks.map((ask) => this.#reserveOne(process, ask, now)));
  }

  async #reserveOne(process: string, { line, ...ask }: NamedAsk, now: number): Promise<LineShare> {
    let known = this.#known.get(line) ?? (await this.#read(line));
    for (let tries = 0; ; tries += 1) {
      const { book, share } = reserve(known.book, process, ask, now);
      const version = known.version + 1;
      if (await this.#write(line, book, known.version)) {
        if (this.#known.size >= MAX_KNOWN_LINES) this.#known.clear();
        this.#known.set(line, { version, book });
        return share;
      }
      if (tries > 0) await this.#table.pause(tries);
      known = await this.#read(line);
    }
  }

  async #read(line: string): Promise<Known> {
    const row = await this.#table.get(lineKey(line));
    if (row === null) return { version: 0, book: EMPTY_BOOK };
    return { version: numOf(row, 'version'), book: unpackLineBook(textOf(row, 'book')) ?? EMPTY_BOOK };
  }

  async #write(line: string, book: LineBook, before: number): Promise<boolean> {
    const goneAt = num(Math.ceil((bookEndsAt(book) + KEPT_MS) / 1000));
    const row = { book: text(packLineBook(book)), version: num(before + 1), [TABLE_SCHEMA.ttl]: goneAt };
    const when: Condition = before === 0 ? IS_NEW : sameVersion(before);
    const isWritten = await this.#table.update(lineKey(line), setting(row), when);
    if (!isWritten) this.#known.delete(line);
    return isWritten;
  }
}

interface Known {
  readonly version: number;
  readonly book: LineBook;
}
