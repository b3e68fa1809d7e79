import { extname } from 'node:path';
import { ConfigError } from '../../config.ts';
import type { Client } from '../client/command.ts';
import { fileTarget } from '../client/file-target.ts';
import { formatItems } from '../format.ts';
import { exportTo } from '../jobs/export.ts';
import { writeTree } from './markdown-tree.ts';

/** Where the pages of a job go, as the options of a command have it. */
export interface PagesOptions {
  /** A folder, or a file whose name ends in .zip. */
  readonly out: string;
  readonly llmsFull?: true;
  readonly frontMatter?: true;
}

export interface WrittenPages {
  /** Markdown files; null for a zip, whose files are not counted. */
  readonly files: number | null;
  /** For people. */
  readonly text: string;
}

/** Refuses options that do not go together, before any work is done. */
export function checkPagesOptions({ out, llmsFull, frontMatter }: PagesOptions): void {
  if (!isZip(out)) return;
  if (llmsFull) throw new ConfigError('--llms-full is not available for a zip; use a folder with --out');
  if (frontMatter) throw new ConfigError('--front-matter is not available for a zip; use a folder with --out');
}

/** Writes the pages of a job as a folder of Markdown files or as a zip, with a manifest.json in either case. */
export async function writePages(client: Client, jobId: string, options: PagesOptions): Promise<WrittenPages> {
  const { out, llmsFull = false, frontMatter = false } = options;
  if (isZip(out)) {
    const target = await fileTarget(out, { keepsUnfinished: false });
    await exportTo(client, target, jobId, { format: 'zip', showsProgress: true });
    return { files: null, text: out };
  }
  const { pages } = await writeTree(client, jobId, { folder: out, llmsFull, frontMatter });
  return { files: pages, text: `${formatItems(pages, 'page')} in ${out}` };
}

function isZip(out: string): boolean {
  return extname(out).toLowerCase() === '.zip';
}
