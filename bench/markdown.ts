import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import { text } from 'node:stream/consumers';
import { obtainDocs } from './markdown/obtain.ts';
import type { Sums, Task } from './markdown/subject.ts';
import { installPeers } from './peers.ts';

export const CONVERTERS: readonly string[] = ['trawl', 'turndown', 'node-html-markdown'];

export interface MarkdownRow {
  readonly name: string;
  readonly pages: number;
  readonly pages_per_s: number;
  readonly mb_per_s: number;
  /** The share of the content's words that is in the Markdown. */
  readonly recall: number;
  /** The share of the Markdown's words that is content: the rest is navigation. */
  readonly precision: number;
  /** The share of code blocks that is in the Markdown to the byte. */
  readonly code_exact: number;
}

export interface MarkdownResult {
  /** Over all packages. */
  readonly rows: readonly MarkdownRow[];
  readonly packages: readonly (MarkdownRow & { readonly package: string; readonly worst: Sums['worst'] })[];
}

/**
 * Converts all pages of the packages of `corpora.ts`, served on loopback, with each converter in a process of its own.
 * Speed is that of the conversion of whole pages in memory, per second of CPU time, after a warm-up; a converter that
 * takes too long for a package is stopped, and `pages` are those it did. Quality is measured by parsers that no
 * converter uses: parse5 reads the page's content, which is described by hand for each package; markdown-it renders the
 * Markdown, and parse5 reads that. Words are counted each as often as it occurs; code must be the same to the byte.
 */
export async function benchMarkdown(
  { docs, items, only }: { docs: string | null; items: number | null; only: readonly string[] },
  say: (line: string) => void,
): Promise<MarkdownResult> {
  const names = CONVERTERS.filter((name) => only.length === 0 || only.includes(name));
  if (names.some((name) => name !== 'trawl')) installPeers(['turndown', 'node-html-markdown'], say);
  const { folder, pages } = obtainDocs(docs, say);
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? '', 'http://localhost').pathname));
    createReadStream(join(folder, path))
      .once('error', () => response.writeHead(404).end())
      .pipe(response);
  });
  // The converters are silent for minutes, and then go on with the connections that they have.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const corpora = pages.map(({ corpus, paths }) => ({ package: corpus.package, paths: thin(paths, items) }));
    const rows: MarkdownRow[] = [];
    const packages: MarkdownResult['packages'][number][] = [];
    for (const converter of names) {
      say(`${converter} …`);
      const sums = await runSubject({ converter, url, corpora });
      rows.push(makeRow(converter, sums));
      packages.push(...sums.map((one) => ({ package: one.package, ...makeRow(converter, [one]), worst: one.worst })));
    }
    return { rows, packages };
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** Takes this many pages of each package, evenly spread. */
function thin(paths: readonly string[], items: number | null): readonly string[] {
  if (items === null || items >= paths.length) return paths;
  return Array.from({ length: items }, (_, index) => paths[Math.floor((index * paths.length) / items)] ?? '');
}

async function runSubject(task: Task): Promise<Sums[]> {
  const file = join(import.meta.dirname, 'markdown', 'subject.ts');
  const child = spawn(process.execPath, [file, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) throw new Error(`${task.converter} ended with ${code}; its output is above`);
  return JSON.parse(printed);
}

function makeRow(name: string, sums: readonly Sums[]): MarkdownRow {
  const sum = (field: 'pages' | 'bytes' | 'seconds' | 'words' | 'wordsFound' | 'written' | 'codes' | 'codesFound') =>
    sums.reduce((total, one) => total + one[field], 0);
  return {
    name,
    pages: sum('pages'),
    pages_per_s: rounded(sum('pages') / sum('seconds'), 1),
    mb_per_s: rounded(sum('bytes') / 1e6 / sum('seconds'), 2),
    recall: rounded(sum('wordsFound') / sum('words'), 5),
    precision: rounded(sum('wordsFound') / sum('written'), 5),
    code_exact: rounded(sum('codes') === 0 ? 1 : sum('codesFound') / sum('codes'), 5),
  };
}

function rounded(number: number, digits: number): number {
  return Number(number.toFixed(digits));
}

export function printMarkdown({ rows, packages }: MarkdownResult): void {
  const columns = ['pages', 'pages_per_s', 'mb_per_s', 'recall', 'precision', 'code_exact'] as const;
  const lines = [
    ['', '', ...columns],
    ...packages.map((row) => [row.name, row.package, ...columns.map((column) => String(row[column]))]),
    ...rows.map((row) => [row.name, 'all', ...columns.map((column) => String(row[column]))]),
  ];
  for (const line of lines)
    console.log(line.map((cell, index) => (index < 2 ? cell.padEnd(20) : cell.padStart(13))).join(''));
}
