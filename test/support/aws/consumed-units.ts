/** In DynamoDB, a write unit is a kilobyte of an item, and a read unit is four of them, read consistently. */
export interface Units {
  readonly write: number;
  readonly read: number;
}

const NOTHING: Units = { write: 0, read: 0 };
const WRITES = new Set(['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'TransactWriteItems']);
const READS = new Set(['GetItem', 'BatchGetItem', 'Query', 'Scan', 'TransactGetItems']);

/** Whether the operation can be asked what it consumed. */
export function consumes(operation: string): boolean {
  return WRITES.has(operation) || READS.has(operation);
}

/**
 * The answer says it, if `ReturnConsumedCapacity` was asked for. The emulator was compared with the documented rules by
 * hand and keeps them: sizes rounded up item by item, the larger of before and after, indexes with their own units (two
 * writes when a key changes), transactions twice, a transaction repeated with its token as reads, and a query by what it
 * has read, not by what it returns. In a transaction it charges an index once, not twice; we have not seen whether AWS
 * does the same.
 *
 * An error says nothing of units. Writes whose condition did not hold are charged all the same, so they are estimated.
 */
export function unitsOf(operation: string, request: unknown, answer: unknown): Units {
  if (!consumes(operation)) return NOTHING;
  const { ConsumedCapacity: said } = answer as { readonly ConsumedCapacity?: Consumed | readonly Consumed[] };
  if (said === undefined) return refusedUnits(operation, request as Request, answer as Refusal);
  const all = Array.isArray(said) ? (said as readonly Consumed[]) : [said as Consumed];
  const isWrite = WRITES.has(operation);
  let [write, read] = [0, 0];
  for (const { CapacityUnits = 0, ReadCapacityUnits, WriteCapacityUnits } of all) {
    const isSplit = ReadCapacityUnits !== undefined || WriteCapacityUnits !== undefined;
    write += WriteCapacityUnits ?? (isWrite && !isSplit ? CapacityUnits : 0);
    read += ReadCapacityUnits ?? (!isWrite && !isSplit ? CapacityUnits : 0);
  }
  return { write, read };
}

interface Consumed {
  readonly CapacityUnits?: number;
  readonly ReadCapacityUnits?: number;
  readonly WriteCapacityUnits?: number;
}

interface Request {
  readonly Item?: Item;
  readonly TransactItems?: readonly { readonly Put?: { readonly Item: Item } }[];
}

interface Refusal {
  readonly __type?: string;
  readonly name?: string;
  readonly Item?: Item;
  readonly CancellationReasons?: readonly { readonly Item?: Item }[];
}

/**
 * An upper estimate: by the larger of the item that was to be put and the one that is stored, as far as the error
 * shows it, and a cancelled transaction as if it had been carried out. What was throttled costs nothing.
 */
function refusedUnits(operation: string, request: Request, refusal: Refusal): Units {
  const error = refusal.name ?? refusal.__type?.split('#').at(-1);
  if (error === 'ConditionalCheckFailedException' && WRITES.has(operation)) {
    return { write: Math.max(writeUnits(request.Item), writeUnits(refusal.Item)), read: 0 };
  }
  if (error !== 'TransactionCanceledException' || operation !== 'TransactWriteItems') return NOTHING;
  let write = 0;
  for (const [place, action] of (request.TransactItems ?? []).entries()) {
    write += 2 * Math.max(writeUnits(action.Put?.Item), writeUnits(refusal.CancellationReasons?.[place]?.Item));
  }
  return { write, read: 0 };
}

type Item = Readonly<Record<string, Value>>;
type Value = Readonly<Record<string, unknown>>;

function writeUnits(item: Item = {}): number {
  return Math.max(1, Math.ceil(itemBytes(item) / 1024));
}

/** As documented: names and texts in UTF-8, a number by its digits, three bytes around a list or map and one per element. */
export function itemBytes(item: Item): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);
}

function valueBytes(value: Value): number {
  const [[type, content] = ['NULL', true]] = Object.entries(value);
  switch (type) {
    case 'S':
      return Buffer.byteLength(content as string);
    case 'N':
      return Math.min(21, Math.ceil((content as string).replace(/[-.]/g, '').length / 2) + 1);
    case 'B':
      return typeof content === 'string' ? Buffer.byteLength(content, 'base64') : (content as Uint8Array).length;
    case 'SS':
    case 'NS':
    case 'BS':
      return (content as readonly unknown[]).reduce<number>(
        (sum, one) => sum + valueBytes({ [type.charAt(0)]: one }),
        0,
      );
    case 'L':
      return 3 + (content as readonly Value[]).reduce((sum, one) => sum + 1 + valueBytes(one), 0);
    case 'M':
      return 3 + Object.keys(content as Item).length + itemBytes(content as Item);
    default:
      return 1;
  }
}
