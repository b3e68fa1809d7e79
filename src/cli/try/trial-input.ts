import { createReadStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ConfigError } from '../../config.ts';
import { itemPath } from '../../contract/client/api-paths.ts';
import type { ItemDetailAnswer } from '../../contract/item-answers.ts';
import { isRecord } from '../../domain/is-record.ts';
import type { TrialInput } from '../../main/trial.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { parseInput } from '../jobs/item-list.ts';

export interface InputOptions {
  readonly input?: readonly string[];
  readonly url?: string;
  readonly from?: readonly string[];
  readonly case?: string;
}

/** The input that the options select; null if a service was asked and gave none, which has been reported already. */
export async function readTrialInput(options: InputOptions): Promise<TrialInput | null> {
  const { input, url, from, case: name } = options;
  const isByHand = input !== undefined || url !== undefined;
  if ([isByHand, from !== undefined, name !== undefined].filter(Boolean).length > 1) {
    throw new ConfigError('give one of --input (with or without --url), --from and --case');
  }
  if (name !== undefined) return { kind: 'case', name };
  if (from === undefined) return { kind: 'input', input: parseInput(input ?? []), url: url ?? null };
  const [job, item, ...more] = from;
  if (job === undefined || item === undefined || more.length > 0) {
    throw new ConfigError('--from takes a job and an item: --from parcels-2026 200-14-030');
  }
  const stored = isFolder(job) ? await readRunItem(job, item) : await askForItem(job, item);
  return stored === null ? null : { kind: 'input', input: stored, url: null };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** From the results of `trawl run`, read line by line because a list may be long. */
async function readRunItem(folder: string, itemId: string): Promise<Record<string, unknown>> {
  const files = readdirSync(folder).filter((name) => /^results(?:-.*)?\.jsonl$/.test(name));
  if (files.length === 0) {
    throw new ConfigError(`--from ${folder}: there is no results.jsonl, which trawl run writes at its end`);
  }
  for (const name of files) {
    const input = await findInput(join(folder, name), itemId);
    if (input !== null) return input;
  }
  throw new ConfigError(`--from ${folder}: no item ${printable(itemId)} in ${files.toSorted().join(', ')}`);
}

async function findInput(file: string, itemId: string): Promise<Record<string, unknown> | null> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  try {
    for await (const line of lines) {
      const row: unknown = line.includes(JSON.stringify(itemId)) ? JSON.parse(line) : null;
      if (isRecord(row) && row['item_id'] === itemId && isRecord(row['input'])) return row['input'];
    }
  } finally {
    lines.close();
  }
  return null;
}

async function askForItem(jobId: string, itemId: string): Promise<Record<string, unknown> | null> {
  // Imported only here: a trial without a job needs no client.
  const { talkToApi } = await import('../client/command.ts');
  const found: Record<string, unknown>[] = [];
  await talkToApi({}, async ({ api }) => {
    found.push((await api.get<ItemDetailAnswer>(itemPath(jobId, itemId))).input);
    return EXIT.done;
  });
  return found[0] ?? null;
}
