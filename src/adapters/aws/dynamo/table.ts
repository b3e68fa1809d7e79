import {
  BatchGetItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { backoffMs, spreadMs } from '../../../domain/backoff.ts';
import type { Clock } from '../../../ports/clock.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import { TABLE_SCHEMA } from '../table-schema.ts';
import { type Key, num, numOf, type Row, text, textOf } from './attributes.ts';
import { writeAll } from './batch-write.ts';
import { isConditionFailed, translated } from './errors.ts';
import { type Change, type Condition, expressionsOf } from './expressions.ts';

/** One action of a transaction: the SDK's, without the name of the table. */
export type Action =
  | { readonly put: Row; readonly when?: Condition }
  | (Change & { readonly update: Key; readonly when?: Condition })
  | { readonly remove: Key; readonly when?: Condition };

/** `refused`: the conditions of the actions at these positions did not hold, and nothing was changed. */
type TransactAnswer = { readonly kind: 'done' } | { readonly kind: 'refused'; readonly at: readonly number[] };

/**
 * The operations of the table that the ledger needs. Reads are consistent unless they need not be. A write that counts
 * is always a transaction with a token: if its reply is lost and the SDK sends it again, DynamoDB recognises it and
 * does not apply it a second time.
 */
export class Table {
  readonly #dynamo: DynamoDBClient;
  readonly name: string;
  readonly #clock: Clock;

  constructor(dynamo: DynamoDBClient, name: string, clock: Clock) {
    this.#dynamo = dynamo;
    this.name = name;
    this.#clock = clock;
  }

  async get(key: Key): Promise<Row | null> {
    const { Item } = await this.#send('GetItem', () =>
      this.#dynamo.send(new GetItemCommand({ TableName: this.name, Key: keyOf(key), ConsistentRead: true })),
    );
    return Item ?? null;
  }

  /** In the order of the keys; null for rows that do not exist. */
  async getAll(keys: readonly Key[]): Promise<readonly (Row | null)[]> {
    const found = new Map<string, Row>();
    // DynamoDB refuses to read the same key twice in one request.
    const different = [...new Map(keys.map(keyOf).map((key) => [nameOf(key), key])).values()];
    for (let at = 0; at < different.length; at += 100) {
      let wanted = different.slice(at, at + 100);
      for (let tries = 0; wanted.length > 0; tries += 1) {
        const request = { RequestItems: { [this.name]: { Keys: wanted, ConsistentRead: true } } };
        const answer = await this.#send('BatchGetItem', () => this.#dynamo.send(new BatchGetItemCommand(request)));
        for (const row of answer.Responses?.[this.name] ?? []) found.set(nameOf(row), row);
        wanted = answer.UnprocessedKeys?.[this.name]?.Keys ?? [];
        if (wanted.length > 0) await this.#pause('BatchGetItem', tries);
      }
    }
    return keys.map((key) => found.get(nameOf(keyOf(key))) ?? null);
  }

  /** Reads page by page; a caller that has enough ends the iteration. */
  async *pages(query: RowQuery): AsyncGenerator<readonly Row[]> {
    let after: Row | undefined;
    do {
      const input = queryInput(this.name, query, after);
      const answer = await this.#send('Query', () => this.#dynamo.send(new QueryCommand(input)));
      yield answer.Items ?? [];
      after = answer.LastEvaluatedKey;
    } while (after !== undefined);
  }

  async all(query: RowQuery): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for await (const page of this.pages(query)) rows.push(...page);
    return rows;
  }

  /** At most `limit` rows, in one request unless they are large. */
  async first(query: RowQuery, limit: number): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for await (const page of this.pages({ ...query, limit })) {
      rows.push(...page);
      if (rows.length >= limit) break;
    }
    return rows.slice(0, limit);
  }

  async put(row: Row): Promise<void> {
    const input = { TableName: this.name, Item: row };
    await this.#unlessRefused('PutItem', () => this.#dynamo.send(new PutItemCommand(input)));
  }

  /** Without conditions, in no order and not atomically: for rows to which nothing refers yet. */
  async putAll(rows: readonly Row[]): Promise<void> {
    const requests = rows.map((row) => ({ PutRequest: { Item: row } }));
    await writeAll(this.#dynamo, this.name, requests, this.#clock);
  }

  /** The same, for rows to which nothing refers any more. */
  async removeAll(keys: readonly Key[]): Promise<void> {
    const requests = keys.map((key) => ({ DeleteRequest: { Key: keyOf(key) } }));
    await writeAll(this.#dynamo, this.name, requests, this.#clock);
  }

  /** Keys of the index of due batches up to `until`, earliest first; lags by moments. */
  due(shard: string, until: number, limit: number): Promise<readonly Due[]> {
    return this.#due(shard, '<=', until, limit);
  }

  /** The same of what is due after `from`. */
  dueAfter(shard: string, from: number, limit: number): Promise<readonly Due[]> {
    return this.#due(shard, '>', from, limit);
  }

  async #due(shard: string, is: '<=' | '>', time: number, limit: number): Promise<readonly Due[]> {
    const found: Due[] = [];
    let after: Row | undefined;
    do {
      const input: QueryCommandInput = {
        TableName: this.name,
        IndexName: DUE.name,
        KeyConditionExpression: `${DUE.pk} = :key AND ${DUE.sk} ${is} :time`,
        ExpressionAttributeValues: { ':key': text(shard), ':time': num(time) },
        Limit: limit - found.length,
        ...(after === undefined ? {} : { ExclusiveStartKey: after }),
      };
      const { Items = [], LastEvaluatedKey } = await this.#send('Query', () =>
        this.#dynamo.send(new QueryCommand(input)),
      );
      for (const row of Items) {
        found.push({ key: { pk: textOf(row, 'pk'), sk: textOf(row, 'sk') }, at: numOf(row, DUE.sk) });
      }
      after = LastEvaluatedKey;
    } while (after !== undefined && found.length < limit);
    return found;
  }

  /** Only for changes that are safe to apply twice. False if the condition did not hold. */
  async update(key: Key, change: Change, when: Condition): Promise<boolean> {
    const input = {
      TableName: this.name,
      Key: keyOf(key),
      UpdateExpression: change.change,
      ...expressionsOf(when, change),
    };
    return await this.#unlessRefused('UpdateItem', () => this.#dynamo.send(new UpdateItemCommand(input)));
  }

  /** The same. */
  async remove(key: Key, when?: Condition): Promise<boolean> {
    const input = { TableName: this.name, Key: keyOf(key), ...expressionsOf(when) };
    return await this.#unlessRefused('DeleteItem', () => this.#dynamo.send(new DeleteItemCommand(input)));
  }

  async transact(actions: readonly Action[]): Promise<TransactAnswer> {
    // The same token however often it is sent, by the SDK or by us: it is the same transaction.
    const input = {
      TransactItems: actions.map((action) => itemOf(this.name, action)),
      ClientRequestToken: tokenOf(this.#clock),
    };
    for (let tries = 0; ; tries += 1) {
      try {
        await this.#dynamo.send(new TransactWriteItemsCommand(input));
        return { kind: 'done' };
      } catch (error) {
        const at = refusedActions(error);
        if (at !== null && at.length > 0) return { kind: 'refused', at };
        // Another transaction is using one of the rows at this moment, or this one still is.
        if (at === null && !isInProgress(error)) throw translated('TransactWriteItems', this.name, error);
      }
      await this.#pause('TransactWriteItems', tries);
    }
  }

  /** Waits before another try, after another writer was faster. */
  async pause(tries: number): Promise<void> {
    await this.#pause('a change that others were faster with', tries);
  }

  async #unlessRefused(what: string, work: () => Promise<unknown>): Promise<boolean> {
    for (let tries = 0; ; tries += 1) {
      try {
        await work();
        return true;
      } catch (error) {
        if (isConditionFailed(error)) return false;
        // A transaction is using the row at this moment.
        if (!isConflict(error)) throw translated(what, this.name, error);
      }
      await this.#pause(what, tries);
    }
  }

  async #send<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw translated(what, this.name, error);
    }
  }

  async #pause(what: string, tries: number): Promise<void> {
    if (tries >= MOST_TRIES) throw new StorageTrouble('io', `${what} on ${this.name} did not come through`);
    await this.#clock.sleep(spreadMs(backoffMs(tries, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), this.#clock.chance()));
  }
}

/** A row of the index of what is due, by its key in the table. */
export interface Due {
  readonly key: Key;
  readonly at: number;
}

interface RowQuery {
  readonly pk: string;
  /** The beginning of the sort key. */
  readonly begins?: string;
  /** After this one, in the direction of the query. */
  readonly after?: string;
  /** Sort keys from here on, this one included … */
  readonly from?: string;
  /** … and up to here. */
  readonly to?: string;
  readonly backwards?: boolean;
  /** Half the price, for callers that do not need the latest writes. */
  readonly mayBeBehind?: boolean;
  readonly limit?: number;
}

const [DUE] = TABLE_SCHEMA.indexes;

const MOST_TRIES = 40;
const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 1000;

function queryInput(table: string, query: RowQuery, start: Row | undefined): QueryCommandInput {
  const { pk, begins, after, from, to, backwards = false, mayBeBehind = false, limit } = query;
  const [range, values] = rangeOf(begins, from, to);
  const behind = start ?? (after === undefined ? undefined : keyOf({ pk, sk: after }));
  return {
    TableName: table,
    KeyConditionExpression: `pk = :pk${range}`,
    ExpressionAttributeValues: { ':pk': text(pk), ...values },
    ConsistentRead: !mayBeBehind,
    ScanIndexForward: !backwards,
    ...(limit === undefined ? {} : { Limit: limit }),
    ...(behind === undefined ? {} : { ExclusiveStartKey: behind }),
  };
}

/** DynamoDB takes one condition on the sort key. */
function rangeOf(
  begins: string | undefined,
  from: string | undefined,
  to = `${begins ?? ''}\uffff`,
): readonly [string, Row] {
  if (from !== undefined) {
    return [' AND sk BETWEEN :from AND :to', { ':from': text(from), ':to': text(to) }];
  }
  return begins === undefined ? ['', {}] : [' AND begins_with(sk, :begins)', { ':begins': text(begins) }];
}

export function keyOf({ pk, sk }: Key): Record<string, Row[string]> {
  return { pk: text(pk), sk: text(sk) };
}

function nameOf(row: Row): string {
  return `${row['pk']?.S}\n${row['sk']?.S}`;
}

function tokenOf(clock: Clock): string {
  return clock.id().slice(-36);
}

function itemOf(table: string, action: Action): TransactWriteItem {
  if ('put' in action) return { Put: { TableName: table, Item: action.put, ...expressionsOf(action.when) } };
  if ('remove' in action) {
    return { Delete: { TableName: table, Key: keyOf(action.remove), ...expressionsOf(action.when) } };
  }
  const { update, change, when } = action;
  return { Update: { TableName: table, Key: keyOf(update), UpdateExpression: change, ...expressionsOf(when, action) } };
}

/** The positions of the actions whose condition did not hold; empty for other reasons; null for another error. */
function refusedActions(error: unknown): readonly number[] | null {
  if (!(error instanceof TransactionCanceledException)) return null;
  const reasons = error.CancellationReasons ?? [];
  const bad = reasons.find(({ Code }) => Code !== undefined && !PASSING.has(Code));
  if (bad !== undefined) throw new Error(`a transaction was refused: ${bad.Code}: ${bad.Message}`, { cause: error });
  return reasons.flatMap(({ Code }, place) => (Code === 'ConditionalCheckFailed' ? [place] : []));
}

/** Reasons that are none, or that disappear when the call is repeated. */
const PASSING = new Set([
  'None',
  'ConditionalCheckFailed',
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

function isInProgress(error: unknown): boolean {
  return error instanceof Error && error.name === 'TransactionInProgressException';
}

function isConflict(error: unknown): boolean {
  return error instanceof Error && error.name === 'TransactionConflictException';
}
