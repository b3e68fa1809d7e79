import {
  type AttributeDefinition,
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  type GlobalSecondaryIndex,
  type KeySchemaElement,
  type TableDescription,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../../ports/clock.ts';
import { TABLE_SCHEMA } from '../table-schema.ts';
import { CREATE, type Finding, nameOf, refusal } from './finding.ts';

interface TableDeps {
  readonly dynamo: DynamoDBClient;
  readonly tableName: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const NAME = 'Table';

/** The index's second key is a time; all others are texts. */
const ATTRIBUTES: readonly AttributeDefinition[] = [
  { AttributeName: TABLE_SCHEMA.keys.pk, AttributeType: 'S' },
  { AttributeName: TABLE_SCHEMA.keys.sk, AttributeType: 'S' },
  ...TABLE_SCHEMA.indexes.flatMap(({ pk, sk }): AttributeDefinition[] => [
    { AttributeName: pk, AttributeType: 'S' },
    { AttributeName: sk, AttributeType: 'N' },
  ]),
];

const INDEXES: readonly (GlobalSecondaryIndex & { readonly IndexName: string })[] = TABLE_SCHEMA.indexes.map(
  ({ name, pk, sk, projection }) => ({
    IndexName: name,
    KeySchema: keySchema(pk, sk),
    Projection: { ProjectionType: projection },
  }),
);

function keySchema(pk: string, sk: string): KeySchemaElement[] {
  return [
    { AttributeName: pk, KeyType: 'HASH' },
    { AttributeName: sk, KeyType: 'RANGE' },
  ];
}

export async function inspectTable(deps: TableDeps): Promise<readonly Finding[]> {
  try {
    const table = await describe(deps);
    return table === null ? [missing(deps)] : [await judged(table, deps)];
  } catch (error) {
    return [refusal(NAME, error)];
  }
}

async function judged(table: TableDescription, deps: TableDeps): Promise<Finding> {
  const { tableName } = deps;
  const problem = (message: string, advice: string): Finding => ({ name: NAME, result: 'problem', message, advice });
  const foreign = foreignKeys(table);
  if (foreign !== null) return problem(foreign, 'set TABLE_NAME to another table');
  if (table.TableStatus !== 'ACTIVE') return problem(`${tableName} is ${table.TableStatus}`, 'wait until it is ACTIVE');
  const absent = INDEXES.find((index) => indexOf(table, index.IndexName) === undefined);
  if (absent !== undefined) return problem(`${tableName} has no index ${absent.IndexName}`, `${CREATE} adds it`);
  const wrong = INDEXES.find((index) => !isSameIndex(table, index));
  if (wrong !== undefined) {
    return problem(`the index ${wrong.IndexName} of ${tableName} is another`, `delete the index; ${CREATE} makes ours`);
  }
  const unready = INDEXES.find((index) => indexOf(table, index.IndexName)?.IndexStatus !== 'ACTIVE');
  if (unready !== undefined) return problem(`the index ${unready.IndexName} is being built`, 'wait until it is ACTIVE');
  if (!(await hasTimeToLive(deps))) {
    const message = `${tableName} keeps expired rows: its time to live is off`;
    return { name: NAME, result: 'warning', message, advice: `${CREATE} turns it on` };
  }
  return { name: NAME, result: 'ok', message: `${tableName} exists, with its index and time to live` };
}

/** What is wrong with its keys: null if it can be ours. */
function foreignKeys({ TableName, KeySchema }: TableDescription): string | null {
  const { pk, sk } = TABLE_SCHEMA.keys;
  if (hasKeys(KeySchema, keySchema(pk, sk))) return null;
  const keys = KeySchema?.map(({ AttributeName }) => AttributeName).join(', ');
  return `${TableName} has the keys ${keys} instead of ${pk}, ${sk}`;
}

function missing({ tableName }: TableDeps): Finding {
  const advice = `${CREATE} creates it, or set TABLE_NAME to another`;
  return { name: NAME, result: 'problem', message: `there is no table ${tableName} in this region`, advice };
}

/** Creates what is missing; returns what was created. */
export async function provisionTable(deps: TableDeps): Promise<readonly string[]> {
  const { dynamo, tableName, signal } = deps;
  const made: string[] = [];
  const found = await describe(deps);
  if (found === null) {
    const command = new CreateTableCommand({
      TableName: tableName,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: keySchema(TABLE_SCHEMA.keys.pk, TABLE_SCHEMA.keys.sk),
      AttributeDefinitions: [...ATTRIBUTES],
      GlobalSecondaryIndexes: [...INDEXES],
    });
    await dynamo.send(command, { abortSignal: signal }).catch(unlessInUse);
    made.push(`the table ${tableName}`);
  }
  const table = await untilActive(deps);
  const foreign = foreignKeys(table);
  if (foreign !== null) throw new Error(foreign);
  for (const index of INDEXES.filter(({ IndexName }) => indexOf(table, IndexName) === undefined)) {
    const change = {
      TableName: tableName,
      AttributeDefinitions: [...ATTRIBUTES],
      GlobalSecondaryIndexUpdates: [{ Create: index }],
    };
    await dynamo.send(new UpdateTableCommand(change), { abortSignal: signal });
    await untilActive(deps);
    made.push(`the index ${index.IndexName} of ${tableName}`);
  }
  if (!(await hasTimeToLive(deps))) {
    const TimeToLiveSpecification = { Enabled: true, AttributeName: TABLE_SCHEMA.ttl };
    await dynamo.send(new UpdateTimeToLiveCommand({ TableName: tableName, TimeToLiveSpecification }), {
      abortSignal: signal,
    });
    made.push(`the time to live of ${tableName}`);
  }
  return made;
}

const LOOK_AGAIN_MS = 1000;

async function untilActive(deps: TableDeps): Promise<TableDescription> {
  for (;;) {
    const table = await describe(deps);
    const indexes = table?.GlobalSecondaryIndexes ?? [];
    const isActive = table?.TableStatus === 'ACTIVE' && indexes.every(({ IndexStatus }) => IndexStatus === 'ACTIVE');
    if (table !== null && isActive) return table;
    await deps.clock.sleep(LOOK_AGAIN_MS, deps.signal);
    if (deps.signal.aborted) throw new Error(`the table ${deps.tableName} was not ACTIVE in time: look again later`);
  }
}

async function describe({ dynamo, tableName, signal }: TableDeps): Promise<TableDescription | null> {
  try {
    const answer = await dynamo.send(new DescribeTableCommand({ TableName: tableName }), { abortSignal: signal });
    return answer.Table ?? null;
  } catch (error) {
    if (nameOf(error) === 'ResourceNotFoundException') return null;
    throw error;
  }
}

async function hasTimeToLive({ dynamo, tableName, signal }: TableDeps): Promise<boolean> {
  const { TimeToLiveDescription: found } = await dynamo.send(new DescribeTimeToLiveCommand({ TableName: tableName }), {
    abortSignal: signal,
  });
  const isOn = found?.TimeToLiveStatus === 'ENABLED' || found?.TimeToLiveStatus === 'ENABLING';
  return isOn && found.AttributeName === TABLE_SCHEMA.ttl;
}

function indexOf(table: TableDescription, name: string) {
  return table.GlobalSecondaryIndexes?.find(({ IndexName }) => IndexName === name);
}

function isSameIndex(table: TableDescription, wanted: GlobalSecondaryIndex & { readonly IndexName: string }): boolean {
  const found = indexOf(table, wanted.IndexName);
  return (
    hasKeys(found?.KeySchema, wanted.KeySchema) &&
    found?.Projection?.ProjectionType === wanted.Projection?.ProjectionType
  );
}

function hasKeys(found: KeySchemaElement[] | undefined, wanted: KeySchemaElement[] | undefined): boolean {
  const text = (keys: KeySchemaElement[] | undefined) =>
    keys?.map(({ AttributeName, KeyType }) => `${KeyType} ${AttributeName}`).join();
  return text(found) === text(wanted);
}

/** It was created elsewhere at the same moment. */
function unlessInUse(error: unknown): void {
  if (nameOf(error) !== 'ResourceInUseException') throw error;
}
