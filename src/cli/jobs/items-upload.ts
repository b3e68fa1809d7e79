import { createReadStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { ConfigError } from '../../config.ts';
import type { AddedAnswer } from '../../contract/answers.ts';
import { formatOfName } from '../../main/client.ts';
import { Interrupted } from '../client/api-error.ts';
import { jobPath } from '../client/api-paths.ts';
import type { Client } from '../client/command.ts';
import { Meter } from '../client/meter.ts';
import { ProgressDisplay } from '../progress-display.ts';
import { itemSource, parseInput, type SourceOptions } from '../run-items.ts';

/** A list of items as bytes: what is in them, only the API reads. */
export interface ItemBytes {
  /** For messages. */
  readonly name: string;
  /** Null where only the first bytes tell. */
  readonly contentType: string | null;
  readonly size: number | null;
  open(): Readable;
}

const CONTENT_TYPES = { csv: 'text/csv', jsonl: 'application/x-ndjson', json: 'application/json' } as const;

/** Fewer and larger pieces than a stream has by itself: each is a write to the connection. */
const PIECE_BYTES = 256 * 1024;

/** What the user gave; throws if that is nothing, twice, or not there. */
export function itemBytes(options: Pick<SourceOptions, 'items' | 'input'>): ItemBytes {
  const source = itemSource(options);
  const { items, input } = options;
  if (source === null) throw new ConfigError('what shall it work on? Give --items FILE or --input name=value');
  if (items === undefined) {
    const bytes = Buffer.from(JSON.stringify([parseInput(input ?? [])]));
    return {
      name: source.name,
      contentType: CONTENT_TYPES.json,
      size: bytes.length,
      open: () => Readable.from([bytes]),
    };
  }
  if (items === '-') return { name: source.name, contentType: null, size: null, open: () => process.stdin };
  const format = formatOfName(items);
  const file = statSync(items);
  return {
    name: source.name,
    contentType: format === null ? null : CONTENT_TYPES[format],
    // A pipe in the file system has none.
    size: file.isFile() ? file.size : null,
    open: () => createReadStream(items, { highWaterMark: PIECE_BYTES }),
  };
}

/** Sends the items while they are read: a list of any length takes the memory of a few pieces. */
export async function uploadItems(client: Client, jobId: string, list: ItemBytes): Promise<AddedAnswer> {
  const { api, screen } = client;
  const meter = new Meter({ clock: api.clock, totalBytes: list.size, lineName: 'line' });
  const look = async () => meter.transfer();
  // What is there in a moment needs no bar.
  const isShort = list.size !== null && list.size < PIECE_BYTES;
  const display = isShort ? null : new ProgressDisplay({ screen, clock: api.clock, look });
  const stream = list.open();
  // Whoever waits for the next line of a pipe is told as well.
  const stop = () => void stream.destroy();
  api.signal.addEventListener('abort', stop, { once: true });
  try {
    const source: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]();
    const first = await source.next();
    const head = first.done === true ? new Uint8Array() : first.value;
    return await api.json<AddedAnswer>({
      method: 'POST',
      path: `${jobPath(jobId)}/items`,
      headers: { 'content-type': list.contentType ?? contentTypeOf(head) },
      stream: meter.count(continued(head, source), () => display?.poke()),
      silenceMs: ANSWER_MS,
    });
  } catch (error) {
    if (api.signal.aborted) throw new Interrupted();
    throw stream.errored === null ? error : new ConfigError(`${list.name}: ${stream.errored.message}`);
  } finally {
    api.signal.removeEventListener('abort', stop);
    stream.destroy();
    await display?.stop();
  }
}

/** The last pieces wait in buffers on both sides when we are done with sending, and each is a write to a disk. */
const ANSWER_MS = 5 * 60_000;

/** As the API tells formats apart where it is not told: by the first thing that is no blank. */
function contentTypeOf(head: Uint8Array): string {
  const text = Buffer.from(head.subarray(0, 1000)).toString('utf8').trimStart();
  if (text.startsWith('[')) return CONTENT_TYPES.json;
  return text.startsWith('{') ? CONTENT_TYPES.jsonl : CONTENT_TYPES.csv;
}

async function* continued(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
