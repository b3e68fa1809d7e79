import { createReadStream, statSync } from 'node:fs';
import { ConfigError } from '../config.ts';
import type { NewItem } from '../domain/item.ts';
import { readItemsOf } from '../main/item-list.ts';

/** Where the items of a run come from. */
export interface ItemSource {
  /** For messages: the name of the file. */
  readonly name: string;
  open(): AsyncGenerator<SourceChunk>;
}

export interface SourceChunk {
  readonly items: readonly NewItem[];
  readonly bad: readonly { readonly line: number; readonly problem: string }[];
}

export interface SourceOptions {
  readonly items?: string;
  readonly input?: readonly string[];
  readonly limit?: number;
}

/** Null if the user gave none, which is fine for a job that has its items already. */
export function itemSource({ items, input, limit }: SourceOptions): ItemSource | null {
  if (items !== undefined && input !== undefined) throw new ConfigError('--items and --input: give one of them');
  if (items !== undefined) {
    const isStdin = items === '-';
    if (!isStdin) mustBeFile(items);
    const open = () => limited(readFileItems(items), limit ?? Number.POSITIVE_INFINITY);
    return { name: isStdin ? 'stdin' : items, open };
  }
  if (input === undefined) return null;
  const entry = parseInput(input);
  return {
    name: '--input',
    open: () => readItemsOf(oneChunk(Buffer.from(JSON.stringify([entry]))), '--input', 'input.json'),
  };
}

/** `apn=200-14-030` is a text, as a column of a CSV is; `year:=2025` is JSON. */
export function parseInput(pairs: readonly string[]): Record<string, unknown> {
  const entries = pairs.map((pair): [string, unknown] => {
    const match = /^([^=]+?)(:?=)(.*)$/s.exec(pair);
    const [, name = '', sign, value = ''] = match ?? [];
    if (name === '') throw new ConfigError(`--input ${pair}: write it as name=value`);
    if (sign === '=') return [name, value];
    try {
      return [name, JSON.parse(value)];
    } catch {
      throw new ConfigError(`--input ${pair}: what follows := must be JSON, such as 5, true or "text"`);
    }
  });
  const names = entries.map(([name]) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new ConfigError(`--input: ${twice} is given twice`);
  return Object.fromEntries(entries);
}

/** Before anything is made for them. */
function mustBeFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new ConfigError(`--items: there is no file ${path}`);
  if (found.isDirectory()) throw new ConfigError(`--items: ${path} is a folder`);
}

async function* readFileItems(file: string): AsyncGenerator<SourceChunk> {
  const isStdin = file === '-';
  const stream = isStdin ? process.stdin : createReadStream(file);
  try {
    yield* readItemsOf(stream, isStdin ? 'stdin' : file, isStdin ? null : file);
  } finally {
    stream.destroy();
  }
}

async function* limited(chunks: AsyncGenerator<SourceChunk>, limit: number): AsyncGenerator<SourceChunk> {
  let left = limit;
  for await (const { items, bad } of chunks) {
    yield { items: items.slice(0, left), bad };
    left -= items.length;
    if (left <= 0) return;
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
