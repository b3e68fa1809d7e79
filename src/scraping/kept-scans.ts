import { hash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import { dirname, join } from 'node:path';
import { isRecord } from '../domain/is-record.ts';
import type { Scanned } from './scan-scraper.ts';

/** Reads what a file says about its scraper. */
export interface Scanner {
  /** Differs if it may find something else in the same source. */
  version(): Promise<string>;
  scan(source: string): Promise<Scanned>;
}

/**
 * What a file's source says about its scraper. Every starting process scans all scrapers, and its parser is slow while
 * it is cold: a tenth of a second for ten files. So results are kept next to Node's compile cache, if there is one, and
 * a known source is not parsed again.
 */
export async function scanOrRecall(file: string, source: string, scanner: Scanner = MODULES): Promise<Scanned> {
  const folder = getCompileCacheDir();
  if (folder === undefined) return await scanner.scan(source);
  const kept = join(folder, 'scans', `${hash('sha256', file)}.json`);
  const known = hash('sha256', (await scanner.version()) + source);
  const recalled = await recall(kept, known);
  if (recalled !== null) return recalled;
  const scanned = await scanner.scan(source);
  // It would only have saved time: a full or read-only folder is no reason to fail.
  await keep(kept, { known, scanned }).catch(() => {});
  return scanned;
}

const MODULES: Scanner = {
  version: () => readFile(new URL('./scan-scraper.ts', import.meta.url), 'utf8'),
  scan: async (source) => (await import('./scan-scraper.ts')).scanScraper(source),
};

interface Kept {
  /** The digest of the scanner and of the source that it read. */
  readonly known: string;
  readonly scanned: Scanned;
}

/** Null if nothing is kept, or it is of another source. */
async function recall(path: string, known: string): Promise<Scanned | null> {
  try {
    const kept: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isRecord(kept) && kept['known'] === known ? (kept['scanned'] as Scanned) : null;
  } catch {
    return null;
  }
}

/** Renamed into place, because several processes start at once. */
async function keep(path: string, kept: Kept): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, JSON.stringify(kept));
  await rename(unfinished, path);
}
