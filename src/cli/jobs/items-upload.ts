import { createReadStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { ConfigError } from '../../config.ts';
import { Interrupted } from '../../contract/client/api-error.ts';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { AddedAnswer } from '../../contract/item-answers.ts';
import { formatOfBytes, formatOfName, ITEM_CONTENT_TYPES } from '../../contract/item-formats.ts';
import type { Client } from '../client/command.ts';
import { Meter } from '../client/meter.ts';
import { ProgressDisplay } from '../progress-display.ts';
import { itemSource, parseInput, type SourceOptions } from '../run-items.ts';

/** A list of items as bytes; only the API parses them. */
export interface ItemBytes {
  /** For messages. */
  readonly name: string;
  /** Null if only the first bytes can tell. */
  readonly contentType: string | null;
  readonly size: number | null;
  open(): Readable;
}

/** Larger than the default of a stream: each piece is a write to the connection. */
const PIECE_BYTES = 256 * 1024;

/** The items that the user gave; throws if there are none, two sources, or no such file. */
export function itemBytes(options: Pick<SourceOptions, 'items' | 'input'>): ItemBytes {
  const source = itemSource(options);
  const { items, input } = options;
  if (source === null) throw new ConfigError('no items given: use --items FILE or --input name=value');
  if (items === undefined) {
    const bytes = Buffer.from(JSON.stringify([parseInput(input ?? [])]));
    return {
      name: source.name,
      contentType: ITEM_CONTENT_TYPES.json,
      size: bytes.length,
      open: () => Readable.from([bytes]),
    };
  }
  if (items === '-') return { name: source.name, contentType: null, size: null, open: () => process.stdin };
  const format = formatOfName(items);
  const file = statSync(items);
  return {
    name: source.name,
    contentType: format === null ? null : ITEM_CONTENT_TYPES[format],
    // A named pipe has no size.
    size: file.isFile() ? file.size : null,
    open: () => createReadStream(items, { highWaterMark: PIECE_BYTES }),
  };
}

/** Streams the items: a list of any length takes the memory of a few pieces. */
export async function uploadItems(client: Client, jobId: string, list: ItemBytes): Promise<AddedAnswer> {
  const { api, screen } = client;
  const meter = new Meter({ clock: api.clock, totalBytes: list.size, lineName: 'line' });
  const look = async () => meter.transfer();
  // A short list needs no progress bar.
  const isShort = list.size !== null && list.size < PIECE_BYTES;
  const display = isShort ? null : new ProgressDisplay({ screen, clock: api.clock, look });
  const stream = list.open();
  // A read that waits for the next line of a pipe must end, too.
  const stop = () => void stream.destroy();
  api.signal.addEventListener('abort', stop, { once: true });
  try {
    const source: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]();
    const first = await source.next();
    const head = first.done === true ? new Uint8Array() : first.value;
    return await api.json<AddedAnswer>({
      method: 'POST',
      path: `${jobPath(jobId)}/items`,
      headers: { 'content-type': list.contentType ?? ITEM_CONTENT_TYPES[formatOfBytes(head)] },
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

/** When everything is sent, the last pieces are still in buffers on both sides, and the server has yet to store them. */
const ANSWER_MS = 5 * 60_000;

async function* continued(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
