import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { jobPath } from '../../contract/client/api-paths.ts';
import { TreeNames } from '../../domain/tree-names.ts';
import { digest } from '../../main/digest.ts';
import type { Client } from '../client/command.ts';
import { fileTarget, type Target } from '../client/file-target.ts';

/** What to write for a job. */
export interface TreeWish {
  readonly folder: string;
  /** Whether to also write all pages into one file, as programs with a language model read them. */
  readonly llmsFull: boolean;
  /** Whether each file begins with title and source. */
  readonly frontMatter: boolean;
}

export interface WrittenTree {
  readonly pages: number;
  readonly without: number;
}

/** The columns of the export that are used here. */
interface PageRow {
  readonly status: string;
  readonly skip_reason?: string;
  readonly input: { readonly url: string; readonly site?: string; readonly path?: string };
  readonly error: { readonly type: string; readonly message: string } | null;
  readonly data: {
    readonly url: string;
    readonly title: string | null;
    readonly markdown: string;
    readonly source: string;
    readonly fetched_at: string;
  } | null;
}

/** Writes the pages of a job as Markdown files, and a manifest that says what became of each URL. Both are streamed. */
export async function writeTree({ api }: Client, jobId: string, wish: TreeWish): Promise<WrittenTree> {
  await mkdir(wish.folder, { recursive: true });
  const manifest = await fileTarget(join(wish.folder, 'manifest.json'), { keepsUnfinished: false });
  const all = wish.llmsFull ? await fileTarget(join(wish.folder, 'llms-full.txt'), { keepsUnfinished: false }) : null;
  const tree = new Tree(wish, manifest, all);
  try {
    const answer = await api.open({
      ...{ method: 'GET', path: `${jobPath(jobId)}/export`, query: { format: 'jsonl' } },
      headers: { accept: '*/*' },
    });
    try {
      await manifest.write(Buffer.from(`{"job_id":${JSON.stringify(jobId)},"pages":[`));
      for await (const row of rowsOf(answer.bytes())) await tree.add(row);
      await manifest.write(Buffer.from('\n]'));
    } finally {
      answer.close();
    }
    await writeLinks(api, jobId, manifest);
    await manifest.write(Buffer.from('}\n'));
    await manifest.finish();
    await all?.finish();
    return { pages: tree.pages, without: tree.without };
  } finally {
    await manifest.close();
    await all?.close();
  }
}

/** The URLs of the list that were not fetched; a pull of a whole site has none. */
async function writeLinks(api: Client['api'], jobId: string, manifest: Target): Promise<void> {
  const answer = await api.open({ method: 'GET', path: `${jobPath(jobId)}/links`, headers: { accept: '*/*' } });
  try {
    let count = 0;
    for await (const link of linesOf(answer.bytes())) {
      await manifest.write(Buffer.from(`${count === 0 ? ',"links":[' : ','}\n${link}`));
      count += 1;
    }
    if (count > 0) await manifest.write(Buffer.from('\n]'));
  } finally {
    answer.close();
  }
}

class Tree {
  readonly #wish: TreeWish;
  readonly #manifest: Target;
  readonly #all: Target | null;
  readonly #names = new TreeNames(digest);
  readonly #folders = new Set<string>();
  pages = 0;
  without = 0;

  constructor(wish: TreeWish, manifest: Target, all: Target | null) {
    this.#wish = wish;
    this.#manifest = manifest;
    this.#all = all;
  }

  async add({ status, skip_reason: reason, input, error, data }: PageRow): Promise<void> {
    const { url, site = hostOf(url), path = pathOf(url) } = input;
    const file = data === null ? null : this.#names.nameOf(site, path);
    if (data !== null && file !== null) await this.#write(file, data, url);
    const entry = {
      ...{ url, site, path, status },
      ...(reason === undefined ? {} : { skip_reason: reason }),
      ...(data === null ? {} : { file, title: data.title, source: data.source, fetched_at: data.fetched_at }),
      ...(error === null ? {} : { error: { type: error.type, message: error.message } }),
    };
    const isFirst = this.pages + this.without === 0;
    await this.#manifest.write(Buffer.from(`${isFirst ? '' : ','}\n${JSON.stringify(entry)}`));
    if (data === null) this.without += 1;
    else this.pages += 1;
  }

  async #write(file: string, { title, markdown }: NonNullable<PageRow['data']>, url: string): Promise<void> {
    const path = join(this.#wish.folder, file);
    const folder = dirname(path);
    if (!this.#folders.has(folder)) await mkdir(folder, { recursive: true });
    this.#folders.add(folder);
    const head = this.#wish.frontMatter ? frontMatter(title, url) : '';
    // Written under another name and renamed, so that a reader of the tree never sees half a page.
    await writeFile(`${path}.unfinished`, `${head}${markdown.trimEnd()}\n`);
    await rename(`${path}.unfinished`, path);
    if (this.#all === null) return;
    const first = this.pages === 0 ? '' : '\n\n';
    await this.#all.write(Buffer.from(`${first}<!-- ${url.replaceAll('--', '%2D%2D')} -->\n\n${markdown.trimEnd()}\n`));
  }
}

/** A text in quotes is the same in YAML as in JSON. */
function frontMatter(title: string | null, url: string): string {
  return `---\n${title === null ? '' : `title: ${JSON.stringify(title)}\n`}source: ${JSON.stringify(url)}\n---\n\n`;
}

async function* rowsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<PageRow> {
  for await (const line of linesOf(bytes)) yield JSON.parse(line) as PageRow;
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of bytes) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield line;
  }
  if (rest !== '') yield rest;
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'pages';
}

function pathOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? '' : `${parsed.pathname}${parsed.search}`;
}
