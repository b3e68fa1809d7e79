import type { Digest } from '../../../domain/artifact.ts';
import { TreeNames } from '../../../domain/tree-names.ts';
import type { ZipFile } from './zip-bytes.ts';

/** A page, or what became of one. */
export interface TreePage {
  readonly site: string;
  readonly path: string;
  /** Null if there is none. */
  readonly markdown: string | null;
  /** What the manifest says about it besides its file. */
  readonly about: Readonly<Record<string, unknown>>;
}

/**
 * Pages as a tree of Markdown files that mirrors the paths of their sites, and a manifest.json with an entry for each. `links`:
 * entries, as JSON, for URLs that were not fetched.
 */
export async function* pageTree(
  about: Readonly<Record<string, unknown>>,
  pages: AsyncIterable<TreePage>,
  digest: Digest,
  links: AsyncIterable<string> = NO_LINKS,
): AsyncGenerator<ZipFile> {
  const names = new TreeNames(digest);
  const entries: string[] = [];
  for await (const { site, path, markdown, about: known } of pages) {
    const isKnown = names.has(site, path);
    const file = markdown === null ? null : names.nameOf(site, path);
    entries.push(JSON.stringify({ ...known, ...(file === null ? {} : { file }) }));
    // A URL that is listed twice is one file.
    if (file !== null && markdown !== null && !isKnown) yield { name: file, content: `${markdown.trimEnd()}\n` };
  }
  const head = JSON.stringify(about).slice(0, -1);
  const comma = head === '{' ? '' : ',';
  const pageList = `"pages":[\n${entries.join(',\n')}\n]`;
  const unfetched = await Array.fromAsync(links);
  const linkList = unfetched.length === 0 ? '' : `,"links":[\n${unfetched.join(',\n')}\n]`;
  yield { name: 'manifest.json', content: `${head}${comma}${pageList}${linkList}}\n` };
}

const NO_LINKS: AsyncIterable<string> = { async *[Symbol.asyncIterator]() {} };
