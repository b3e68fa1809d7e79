import * as nodeDisk from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Disk, type FileResultStore, openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import type { OpenDraftFile } from '../../src/adapters/embedded/results/draft-files.ts';
import { FakeClock } from '../support/fake-clock.ts';

export interface Room {
  readonly root: string;
  readonly clock: FakeClock;
  readonly store: FileResultStore;
  /** What the store writes with from now on. */
  readonly disk: Disk;
}

/** A case on a fresh folder; `disk` replaces operations of the disk that the store works on. */
export function inRoom(
  name: string,
  body: (room: Room) => Promise<void>,
  disk: Partial<Disk> = {},
  more: { openDraftFile?: OpenDraftFile } = {},
): void {
  test(name, async () => {
    const root = await mkdtemp(join(tmpdir(), 'trawl-files-'));
    try {
      const clock = new FakeClock({ now: Date.now() });
      const all: Disk = { ...nodeDisk, ...disk };
      await body({ root, clock, disk: all, store: await openFileResultStore(root, { clock, disk: all, ...more }) });
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
}

export function failing(code: string): () => never {
  return () => {
    throw Object.assign(new Error(`${code}: as arranged`), { code });
  };
}

/** Paths of the files that processes have begun and not finished, without the folders that hold them. */
export async function unfinished(root: string): Promise<string[]> {
  const entries = await readdir(join(root, '.tmp'), { withFileTypes: true }).catch(() => []);
  const inside = async (entry: (typeof entries)[number]) => {
    if (!entry.isDirectory() || entry.name.startsWith('removed-')) return [entry.name];
    return (await readdir(join(root, '.tmp', entry.name))).map((name) => join(entry.name, name));
  };
  return (await Promise.all(entries.map(inside))).flat();
}
