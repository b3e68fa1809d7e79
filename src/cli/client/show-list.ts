import type { Command } from 'commander';
import { readPages } from '../../contract/client/pages.ts';
import { EXIT } from '../exit-codes.ts';
import { wholeNumber } from '../options.ts';
import type { Client, ClientOptions } from './command.ts';
import { type Column, tableText } from './table.ts';

export interface ListOptions {
  readonly limit?: number;
  readonly all?: true;
}

const USUAL_LIMIT = 50;

export function withListOptions(command: Command): Command {
  return command
    .option('--limit <n>', `maximum number of entries (default: ${USUAL_LIMIT})`, wholeNumber)
    .option('--all', 'show all entries; with --json, print one object per line');
}

/** A list of the API and how to show it. */
interface ListView<Page, Entry> {
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly entries: (page: Page) => readonly Entry[];
  /** The largest page that the API returns. */
  readonly pageSize: number;
  readonly columns: readonly Column[];
  readonly row: (entry: Entry) => readonly string[];
  readonly nothing: string;
}

/**
 * Prints a table, the JSON of the API's answer, or one object per line where there are several answers. Only one page is
 * in memory, so the columns of `--all` are aligned page by page.
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
  for await (const page of readPages<Page>(api, path, query, {
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
  else if (isMore && !options.json) note('There are more: use --all to see all of them.');
  return EXIT.done;
}
