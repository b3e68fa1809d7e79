import type { Chance } from './fault-chance.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A batch of which only a part is sent on. `complete` adds what was held back to the server's answer. */
export interface SplitBatch {
  /** Null when nothing is left to send. */
  readonly sent: Fields | null;
  complete(answer: Fields): Fields;
}

/** Null when the operation is not a batch, or is one that cannot be split. */
export function splitBatch(operation: string, request: Fields, chance: Chance): SplitBatch | null {
  switch (operation) {
    case 'BatchWriteItem':
      return splitWrites(request, chance);
    case 'BatchGetItem':
      return splitReads(request, chance);
    case 'SendMessageBatch':
    case 'DeleteMessageBatch':
    case 'ChangeMessageVisibilityBatch':
      return splitEntries(request, chance);
    default:
      return null;
  }
}

type Writes = Readonly<Record<string, readonly unknown[]>>;

function splitWrites(request: Fields, chance: Chance): SplitBatch | null {
  const parts = split(request['RequestItems'] as Writes, chance);
  return (
    parts && {
      sent: { ...request, RequestItems: parts.sent },
      complete: (answer) => ({ ...answer, UnprocessedItems: parts.held }),
    }
  );
}

type Reads = Readonly<Record<string, { readonly Keys: readonly unknown[] }>>;

function splitReads(request: Fields, chance: Chance): SplitBatch | null {
  const asked = request['RequestItems'] as Reads;
  const parts = split(Object.fromEntries(Object.entries(asked).map(([table, { Keys }]) => [table, Keys])), chance);
  // Consistency, projection and names of a table go with its keys.
  const withKeys = (keys: Writes) =>
    Object.fromEntries(Object.entries(keys).map(([table, Keys]) => [table, { ...asked[table], Keys }]));
  return (
    parts && {
      sent: { ...request, RequestItems: withKeys(parts.sent) },
      complete: (answer) => ({ ...answer, UnprocessedKeys: withKeys(parts.held) }),
    }
  );
}

/** Leaves at least one entry on either side: DynamoDB answers with an error if nothing of a batch was processed. */
function split(byTable: Writes, chance: Chance): { readonly sent: Writes; readonly held: Writes } | null {
  const entries = Object.entries(byTable).flatMap(([table, all]) => all.map((entry) => ({ table, entry })));
  if (entries.length < 2) return null;
  const held = new Set(chance.some(entries, 1, entries.length - 1));
  const group = (wanted: boolean): Writes => {
    const grouped: Record<string, unknown[]> = {};
    for (const each of entries) {
      if (held.has(each) !== wanted) continue;
      grouped[each.table] ??= [];
      grouped[each.table]?.push(each.entry);
    }
    return grouped;
  };
  return { sent: group(false), held: group(true) };
}

/** SQS may well fail every entry and call the whole a success. */
function splitEntries(request: Fields, chance: Chance): SplitBatch {
  const entries = request['Entries'] as readonly { readonly Id: string }[];
  const held = chance.some(entries, 1, entries.length);
  const sent = entries.filter((entry) => !held.includes(entry));
  const failed = held.map(({ Id }) => ({ Id, SenderFault: false, Code: 'InternalError', Message: 'Try again' }));
  return {
    sent: sent.length === 0 ? null : { ...request, Entries: sent },
    complete: (answer) => ({ ...answer, Failed: [...((answer['Failed'] as unknown[]) ?? []), ...failed] }),
  };
}
