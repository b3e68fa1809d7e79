import type { Command } from 'commander';
import { EXIT } from '../exit-codes.ts';
import { wholeNumber } from '../options.ts';
import type { Client, ClientOptions } from './command.ts';
import { pagesOf } from './pages.ts';
import { type Column, tableText } from './table.ts';

export interface ListOptions {
  readonly limit?: number;
  readonly all?: true;
}

const USUAL_LIMIT = 50;

export function withListOptions(command: Command): Command {
  return command
    .option('--limit <n>', `how many at the most (${USUAL_LIMIT})`, wholeNumber)
    .option('--all', 'all of them; with --json one object per line');
}

/** A list of the API, and how it is shown. */
export interface ListView<Page, Entry> {
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly entries: (page: Page) => readonly Entry[];
  /** As many as the API gives at once. */
  readonly pageSize: number;
  readonly columns: readonly Column[];
  readonly row: (entry: Entry) => readonly string[];
  readonly nothing: string;
}

/**
 * A table of as many as are wanted; JSON as the API answers it, or an object per line where the answers are many. Only a
 * page is in memory: the columns of `--all` are aligned page by page.
 */
export async function showList<Page extends { readonly next_cursor: string | null }, Entry>(
  { api, out, note }: Client,
  options: ClientOptions & ListOptions,
  view: ListView<Page, Entry>,
): Promise<number> {
  const { path, query, entries, pageSize, columns, row } = view;
  const limit = options.all ? null : (options.limit ?? USUAL_LIMIT);
  const isOnePage = limit !== null && limit <= pageSize;
  if (options.json && isOnePage) {
    await out.json(await api.get<Page>(path, { ...query, limit }));
    return EXIT.done;
  }
  let shown = 0;
  let isMore = false;
  for await (const page of pagesOf<Page>(api, path, query, {
    limit,
    pageSize,
    countOf: (each) => entries(each).length,
  })) {
    const found = entries(page);
    isMore = page.next_cursor !== null;
    if (found.length === 0) continue;
    if (options.json) await out.write(found.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    else await out.write(tableText(columns, found.map(row), process.stdout, { hasHead: shown === 0 }));
    shown += found.length;
  }
  if (shown === 0 && !options.json) note(view.nothing);
  else if (isMore && !options.json) note('There are more: --all shows all of them.');
  return EXIT.done;
}
