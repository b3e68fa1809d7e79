import { createReadStream, statSync } from 'node:fs';
import { extname } from 'node:path';
import { ConfigError } from '../../config.ts';
import { URL_CONTENT_TYPES, type UrlFormat } from '../../contract/bulk-request.ts';
import { type ItemList, PIECE_BYTES } from '../jobs/item-list.ts';

const FORMAT_OF_NAME: Readonly<Record<string, UrlFormat>> = {
  ...{ '.csv': 'csv', '.json': 'json', '.jsonl': 'jsonl', '.ndjson': 'jsonl', '.txt': 'lines' },
};

/** A file of URLs, or `-` for stdin. */
export function urlList(file: string): ItemList {
  if (file === '-') return { name: 'stdin', contentType: null, size: null, open: () => process.stdin };
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new ConfigError(`no such file: ${file}`);
  if (found.isDirectory()) throw new ConfigError(`${file} is a folder`);
  const format = FORMAT_OF_NAME[extname(file).toLowerCase()];
  return {
    name: file,
    contentType: format === undefined ? null : URL_CONTENT_TYPES[format],
    size: found.isFile() ? found.size : null,
    open: () => createReadStream(file, { highWaterMark: PIECE_BYTES }),
  };
}

/** Guesses the format of a list from its first bytes. */
export function urlFormatOfBytes(head: Uint8Array): UrlFormat {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, 4096)).toString().trimStart();
  if (text.startsWith('[')) return 'json';
  if (text.startsWith('{') || text.startsWith('"')) return 'jsonl';
  const [first = ''] = text.split('\n', 1);
  const isHeader = first.split(/[,;\t]/).some((cell) => /^\s*"?url"?\s*$/i.test(cell));
  return isHeader ? 'csv' : 'lines';
}
