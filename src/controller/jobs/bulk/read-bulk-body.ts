import type { UrlFormat } from '../../../contract/bulk-request.ts';
import type { FieldError } from '../../../contract/problem.ts';
import type { Clock } from '../../../ports/clock.ts';
import { UnreadableItems } from '../../intake/csv-columns.ts';
import { firstBytes } from '../../intake/first-bytes.ts';
import { inPieces } from '../../intake/in-pieces.ts';
import { parseJsonBytes } from '../../intake/parse-json-bytes.ts';
import { jsonEntry, readUrls, type UrlEntry } from '../../intake/read-urls.ts';
import { brokenText, JsonSplitter } from '../../intake/split-json.ts';
import { untilAborted } from '../../intake/until-aborted.ts';
import { MAX_PROBLEMS } from '../submit.ts';
import type { UrlSpool } from './url-spool.ts';

export type ReadBulkAnswer =
  /** Null for a list without fields. */
  | { readonly kind: 'read'; readonly fields: Readonly<Record<string, unknown>> | null }
  | { readonly kind: 'bad'; readonly problems: readonly FieldError[] }
  | { readonly kind: 'malformed'; readonly message: string };

interface ReadDeps {
  readonly spool: UrlSpool;
  readonly clock: Pick<Clock, 'turn'>;
}

const LONGEST_URL_BYTES = 16_384;

/** Reads the body as it arrives, and puts its URLs into the spool. Fields may precede or follow the URLs. */
export async function readBulkBody(
  { spool, clock }: ReadDeps,
  bytes: AsyncIterable<Uint8Array>,
  format: UrlFormat,
  signal: AbortSignal,
): Promise<ReadBulkAnswer> {
  const source = untilAborted(bytes, signal);
  const taker = new Taker(spool);
  try {
    const head = await firstBytes(source);
    const pieces = inPieces(head, source);
    const isRequest = format === 'json' && head.find((byte) => byte > 0x20) === OPEN_OBJECT;
    if (isRequest) return await readRequest(pieces, taker, clock);
    for await (const entries of readUrls(pieces, format)) {
      await taker.take(entries);
      await clock.turn();
    }
    return await taker.end(null);
  } catch (error) {
    if (!(error instanceof UnreadableItems)) throw error;
    return { kind: 'malformed', message: error.message };
  } finally {
    await source.return(undefined);
  }
}

const OPEN_OBJECT = 0x7b;

async function readRequest(
  pieces: AsyncIterable<Uint8Array>,
  taker: Taker,
  clock: Pick<Clock, 'turn'>,
): Promise<ReadBulkAnswer> {
  const splitter = new JsonSplitter('request', { listName: 'urls', maxEntryBytes: LONGEST_URL_BYTES });
  const fields = new Map<string, unknown>();
  for await (const piece of pieces) {
    const entries: UrlEntry[] = [];
    for (const part of splitter.push(piece)) {
      if (part.kind === 'broken') return { kind: 'malformed', message: brokenText(part) };
      if (part.kind === 'entry') entries.push(jsonEntry(part.bytes, `urls.${part.index}`));
      else if (part.kind === 'too-long') {
        entries.push({ problem: { path: `urls.${part.index}`, message: 'is too long' } });
      } else {
        const parsed = parseJsonBytes(part.bytes);
        if ('problem' in parsed) return { kind: 'malformed', message: `${part.name}: ${parsed.problem}` };
        fields.set(part.name, parsed.value);
      }
    }
    await taker.take(entries);
    await clock.turn();
  }
  const last = splitter.last();
  if (last !== null) return { kind: 'malformed', message: brokenText(last) };
  return await taker.end(Object.fromEntries(fields));
}

/** Entries on their way into the spool, and the first problems among them. */
class Taker {
  readonly #spool: UrlSpool;
  readonly #problems: FieldError[] = [];

  constructor(spool: UrlSpool) {
    this.#spool = spool;
  }

  async take(entries: readonly UrlEntry[]): Promise<void> {
    for (const entry of entries) {
      if ('url' in entry) await this.#spool.add(entry.url);
      else if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(entry.problem);
    }
  }

  async end(fields: Readonly<Record<string, unknown>> | null): Promise<ReadBulkAnswer> {
    await this.#spool.end();
    if (this.#problems.length > 0) return { kind: 'bad', problems: this.#problems };
    return { kind: 'read', fields };
  }
}
