import type { FieldError } from '../../contract/problem.ts';
import { runItemSchema } from '../../contract/scrape-run-requests.ts';
import { schemaProblems } from '../../domain/schema-problems.ts';
import type { Clock } from '../../ports/clock.ts';
import { firstBytes } from '../intake/first-bytes.ts';
import { inPieces } from '../intake/in-pieces.ts';
import { parseJsonBytes } from '../intake/parse-json-bytes.ts';
import { brokenText, JsonSplitter } from '../intake/split-json.ts';
import { untilAborted } from '../intake/until-aborted.ts';

export type ReadRunAnswer =
  | { readonly kind: 'read'; readonly fields: Readonly<Record<string, unknown>>; readonly urls: number }
  | { readonly kind: 'bad'; readonly problems: readonly FieldError[] }
  | { readonly kind: 'malformed'; readonly message: string };

interface ReadDeps {
  readonly clock: Pick<Clock, 'turn'>;
  /** Gets the URLs as they arrive, some at a time; none once there was a bad one. */
  readonly take: (urls: readonly string[]) => Promise<void>;
}

/** A URL of 4,096 bytes may have six times as many with its escapes. */
const LONGEST_ITEM_BYTES = 32_768;
const URLS_AT_ONCE = 1000;
const MAX_PROBLEMS = 100;

/** Reads a request with any number of `items` in constant memory. Its other fields may precede or follow them. */
export async function readRunBody(
  { clock, take }: ReadDeps,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<ReadRunAnswer> {
  const source = untilAborted(bytes, signal);
  const splitter = new JsonSplitter('request', { maxEntryBytes: LONGEST_ITEM_BYTES });
  const fields = new Map<string, unknown>();
  const problems: FieldError[] = [];
  let waiting: string[] = [];
  let urls = 0;
  const report = (found: readonly FieldError[]) => problems.push(...found.slice(0, MAX_PROBLEMS - problems.length));
  const handOver = async () => {
    const some = waiting;
    waiting = [];
    urls += some.length;
    if (some.length > 0 && problems.length === 0) await take(some);
  };
  try {
    const head = await firstBytes(source);
    if (head.length === 0) return { kind: 'malformed', message: 'the request has no body' };
    for await (const piece of inPieces(head, source)) {
      for (const part of splitter.push(piece)) {
        if (part.kind === 'broken') return { kind: 'malformed', message: brokenText(part) };
        if (part.kind === 'too-long') {
          report([{ path: `items.${part.index}`, message: 'is too long' }]);
          continue;
        }
        const path = part.kind === 'entry' ? `items.${part.index}` : part.name;
        const parsed = parseJsonBytes(part.bytes);
        if ('problem' in parsed) return { kind: 'malformed', message: `${path}: ${parsed.problem}` };
        if (part.kind === 'field') {
          fields.set(part.name, parsed.value);
          continue;
        }
        const item = runItemSchema.safeParse(parsed.value);
        if (item.success) waiting.push(item.data.url);
        else report(schemaProblems(item.error).map((found) => ({ ...found, path: within(path, found.path) })));
        if (waiting.length >= URLS_AT_ONCE) await handOver();
      }
      await clock.turn();
    }
    const last = splitter.last();
    if (last !== null) return { kind: 'malformed', message: brokenText(last) };
    await handOver();
    if (problems.length > 0) return { kind: 'bad', problems };
    return { kind: 'read', fields: Object.fromEntries(fields), urls };
  } finally {
    await source.return(undefined);
  }
}

function within(path: string, field: string): string {
  return field === '' ? path : `${path}.${field}`;
}
