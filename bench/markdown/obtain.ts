import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CORPORA, type Corpus } from './corpora.ts';

/** Outside of the project, and kept for the next time: the packages are 30 MB, and 200 MB unpacked. */
const CACHE = join(homedir(), '.cache', 'trawl-bench', 'docs');

export interface Pages {
  readonly corpus: Corpus;
  /** Relative to the folder. */
  readonly paths: readonly string[];
}

/** The packages, downloaded and unpacked where they are not yet. Nothing is installed. */
export function obtainDocs(folder: string | null, say: (line: string) => void): { folder: string; pages: Pages[] } {
  const root = folder ?? CACHE;
  const docs = join(root, 'usr', 'share', 'doc');
  const pages = CORPORA.map((corpus) => {
    let paths = findPages(docs, corpus);
    if (paths.length === 0 && folder === null) {
      say(`downloading ${corpus.package} …`);
      download(root, corpus);
      paths = findPages(docs, corpus);
    }
    if (paths.length === 0) throw new Error(`there are no pages of ${corpus.package} below ${docs}`);
    return { corpus, paths };
  });
  return { folder: docs, pages };
}

function findPages(docs: string, { pages }: Corpus): string[] {
  if (!existsSync(docs)) return [];
  return readdirSync(docs, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(docs.length + 1))
    .filter((path) => pages.test(path))
    .sort();
}

function download(root: string, corpus: Corpus): void {
  const room = join(root, `new-${process.pid}`);
  mkdirSync(room, { recursive: true });
  try {
    const dependencies = run('apt-cache', ['depends', corpus.package], room);
    const names = [corpus.package, ...dependencies.matchAll(/^\s*Depends: (\S+)/gm)].map(String);
    const name = names
      .map((text) => text.replace(/^.*Depends: |,.*$/g, '').trim())
      .find((text) => corpus.holds.test(text));
    if (name === undefined) throw new Error(`${corpus.package} depends on no package with pages`);
    run('apt-get', ['download', name], room);
    const file = readdirSync(room).find((entry) => entry.endsWith('.deb'));
    if (file === undefined) throw new Error(`apt-get download ${name} brought no package`);
    run('dpkg', ['-x', join(room, file), join(room, 'unpacked')], room);
    mkdirSync(join(root, 'usr', 'share', 'doc'), { recursive: true });
    for (const entry of readdirSync(join(room, 'unpacked', 'usr', 'share', 'doc'))) {
      const place = join(root, 'usr', 'share', 'doc', entry);
      rmSync(place, { recursive: true, force: true });
      renameSync(join(room, 'unpacked', 'usr', 'share', 'doc', entry), place);
    }
  } finally {
    rmSync(room, { recursive: true, force: true });
  }
}

function run(command: string, args: readonly string[], folder: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' });
  if (status === 0) return stdout;
  const reason = error?.message ?? stderr.trim();
  throw new Error(
    `${command} ${args.join(' ')} failed (${reason}). Without Debian's tools, unpack the packages elsewhere and give --docs DIR`,
  );
}
