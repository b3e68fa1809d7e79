import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Chromium } from './prove-chromium.ts';

/** What was found last time, so that a worker need not start a browser only to see that it can. */
const remembered = z.strictObject({
  path: z.string(),
  version: z.string(),
  sandbox: z.boolean(),
  /** Properties of the file: an update changes them, and the new one may lack a library. */
  bytes: z.number(),
  modifiedAt: z.number(),
  /** Another user may have no sandbox. */
  user: z.number(),
});

/** Null if nothing was found before, or the file has changed since. */
export function recallChromium(cacheDir: string): Chromium | null {
  try {
    const { path, version, sandbox, ...was } = remembered.parse(JSON.parse(readFileSync(fileIn(cacheDir), 'utf8')));
    const { bytes, modifiedAt, user } = factsOf(path);
    const isSame = was.bytes === bytes && was.modifiedAt === modifiedAt && was.user === user;
    return isSame ? { path, version, sandbox } : null;
  } catch {
    return null;
  }
}

/** If it cannot be written, it is searched for each time. */
export function rememberChromium(cacheDir: string, found: Chromium): void {
  const file = fileIn(cacheDir);
  const draft = `${file}.${process.pid}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(draft, JSON.stringify({ ...found, ...factsOf(found.path) }));
    renameSync(draft, file);
  } catch {
    rmSync(draft, { force: true });
  }
}

export function forgetChromium(cacheDir: string): void {
  rmSync(fileIn(cacheDir), { force: true });
}

function fileIn(cacheDir: string): string {
  return join(cacheDir, 'chromium.json');
}

function factsOf(path: string) {
  const { size, mtimeMs } = statSync(path);
  return { bytes: size, modifiedAt: mtimeMs, user: process.getuid?.() ?? -1 };
}
