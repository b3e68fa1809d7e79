import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/debian', import.meta.url));
const DOWNLOAD_MS = 120_000;

/** Where a program is: that of the machine, or the one out of Debian's package, kept for the next time. */
export async function debianProgram(name: string, fromPackage: string = name): Promise<string> {
  const installed = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
  const kept = join(CACHE, name);
  const found = [...installed, kept].find((path) => existsSync(path));
  if (found !== undefined) return found;
  try {
    await unpack(name, fromPackage, kept);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`there is no ${name}: install the package ${fromPackage}, or put ${name} into the PATH (${why})`);
  }
  return kept;
}

/** Unpacks into a separate folder first, then moves it by one rename: two test processes may do this at once. */
async function unpack(name: string, fromPackage: string, place: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, 'unpack-'));
  try {
    await download(fromPackage, folder);
    const deb = (await readdir(folder)).find((file) => file.endsWith('.deb'));
    if (deb === undefined) throw new Error('apt-get download left no package');
    await run('dpkg-deb', ['-x', join(folder, deb), join(folder, 'files')], { timeout: DOWNLOAD_MS });
    await rename(join(folder, 'files/usr/bin', name), place);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function download(fromPackage: string, folder: string): Promise<void> {
  const fetchPackage = () => run('apt-get', ['download', fromPackage], { cwd: folder, timeout: DOWNLOAD_MS });
  await fetchPackage().catch(async () => {
    await run('apt-get', ['update'], { timeout: DOWNLOAD_MS });
    await fetchPackage();
  });
}
