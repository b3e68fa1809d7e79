import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROJECT = join(import.meta.dirname, '..', '..');

export interface Checkouts {
  /** The working tree as it is now, uncommitted changes included. A copy: it may be edited while the benchmark runs. */
  readonly here: Checkout;
  readonly other: Checkout;
  /** For what the runs leave when they are stopped. */
  readonly temporary: string;
  remove(): void;
}

export interface Checkout {
  readonly folder: string;
  readonly commit: string;
}

/** Both sides in folders of the same kind next to each other, so that the disk and the length of paths are the same. */
export function checkOutBoth(commit: string): Checkouts {
  const there = commitNamed(commit);
  const room = mkdtempSync(join(tmpdir(), 'trawl-compare-'));
  const remove = () => rmSync(room, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  try {
    const [here, other, temporary] = ['here', 'other', 'tmp'].map((name) => join(room, name)) as [
      string,
      string,
      string,
    ];
    for (const folder of [here, other, temporary]) mkdirSync(folder);
    unpack(['-c', '--null', '--no-recursion', '-C', PROJECT, '-T', '-'], here, workingTree());
    unpack(null, other, git(['archive', '--format=tar', there]));
    for (const folder of [here, other]) linkModules(folder);
    const isChanged = git(['status', '--porcelain']).length > 0;
    return {
      here: { folder: here, commit: isChanged ? `${short('HEAD')} and uncommitted changes` : short('HEAD') },
      other: { folder: other, commit: short(there) },
      temporary,
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

function commitNamed(name: string): string {
  const { status, stdout } = spawnSync('git', ['rev-parse', '--verify', '--quiet', `${name}^{commit}`], {
    cwd: PROJECT,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${name} is not a commit of this repository`);
  return stdout.trim();
}

function short(commit: string): string {
  return git(['rev-parse', '--short', commit]).toString().trim();
}

/** Names of files, separated by zeros. A file that was deleted and not yet committed is still listed by git. */
function workingTree(): Buffer {
  const names = git(['ls-files', '-z', '--cached', '--others', '--exclude-standard']).toString().split('\0');
  return Buffer.from(names.filter((name) => name !== '' && existsSync(join(PROJECT, name))).join('\0'));
}

/** `pack` makes an archive of the files that `input` lists; without it, `input` is the archive. */
function unpack(pack: readonly string[] | null, folder: string, input: Buffer): void {
  const archive = pack === null ? input : execFileSync('tar', pack, { input, maxBuffer: MAX_BYTES });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
}

/** Old commits run with the packages of today. */
function linkModules(folder: string): void {
  for (const modules of ['node_modules', 'bench/node_modules']) {
    const link = join(folder, modules);
    if (existsSync(join(PROJECT, modules)) && !existsSync(link)) symlinkSync(join(PROJECT, modules), link);
  }
}

function git(args: readonly string[]): Buffer {
  return execFileSync('git', args, { cwd: PROJECT, maxBuffer: MAX_BYTES, stdio: ['ignore', 'pipe', 'pipe'] });
}

const MAX_BYTES = 2 ** 30;
