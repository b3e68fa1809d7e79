import { ConfigError } from '../../config.ts';
import { Interrupted } from '../../contract/client/api-error.ts';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { AddedAnswer } from '../../contract/item-answers.ts';
import { formatOfBytes, ITEM_CONTENT_TYPES } from '../../contract/item-formats.ts';
import type { ColumnQuery } from '../client/columns.ts';
import type { Client } from '../client/command.ts';
import { Meter } from '../client/meter.ts';
import { type ItemList, PIECE_BYTES } from './item-list.ts';

/** Adds the items to a job, or the first `limit` of them. */
export function uploadItems(
  client: Client,
  jobId: string,
  list: ItemList,
  query: ColumnQuery & { readonly limit?: number } = {},
): Promise<AddedAnswer> {
  return sendList<AddedAnswer>(client, `${jobPath(jobId)}/items`, list, { ...query });
}

/** Streams a list to an operation that accepts one: a list of any length takes the memory of a few pieces. */
export async function sendList<Answer>(
  { api, show }: Client,
  path: string,
  list: ItemList,
  query: Readonly<Record<string, string | number>>,
  /** Determines the content type from the first bytes, for a list whose name does not show it. */
  typeOfBytes: (head: Uint8Array) => string = (head) => ITEM_CONTENT_TYPES[formatOfBytes(head)],
): Promise<Answer> {
  const meter = new Meter({ clock: api.clock, totalBytes: list.size, lineName: 'line' });
  const look = async () => meter.transfer();
  // A short list needs no progress bar.
  const isShort = list.size !== null && list.size < PIECE_BYTES;
  const display = isShort ? null : show(look);
  const stream = list.open();
  // Also ends a read that waits for the next line of a pipe.
  const stop = () => void stream.destroy();
  api.signal.addEventListener('abort', stop, { once: true });
  try {
    const source: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]();
    const first = await source.next();
    const head = first.done === true ? new Uint8Array() : first.value;
    return await api.json<Answer>({
      method: 'POST',
      path,
      query,
      headers: { 'content-type': list.contentType ?? typeOfBytes(head) },
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

/**
 * When everything is sent, the last pieces are still in buffers on both sides, and the server must still store them.
 */
const ANSWER_MS = 5 * 60_000;

async function* continued(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
