import { hash } from 'node:crypto';
import * as nodeDisk from 'node:fs';
import { lstat, mkdir, open, opendir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { ContentEncoding, StoredArtifact } from '../../domain/artifact.ts';
import type { Clock } from '../../ports/clock.ts';
import { KeyTaken, type PutOptions, type ResultStore, type StoredBytes } from '../../ports/result-store.ts';
import { asStorageTrouble, codeOf } from './disk-trouble.ts';
import { removeFolder } from './remove-folder.ts';
import { ResultFolders } from './result-folders.ts';
import { type ResultPath, resultFolders, resultPath } from './result-path.ts';

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** What the store writes with; a test may put a full or failing disk in its place. */
export type Disk = Pick<
  typeof nodeDisk,
  'writeFileSync' | 'linkSync' | 'renameSync' | 'unlinkSync' | 'mkdirSync' | 'lstatSync'
>;

/** A folder of its own for unfinished files, so that sweeping up does not mean walking through a million folders. */
const UNFINISHED = '.tmp';

/** A put is a matter of milliseconds; whoever began one this long ago is dead. */
const OLD_MS = 10 * 60_000;

/** Folders may vanish under us, and another writer may come and go, but not for ever. */
const MAX_ROUNDS = 5;

const PROBE_BYTES = 64 * 1024;

/** Symbolic links are not followed where bytes are read: they could lead out of the root. */
const TO_READ = nodeDisk.constants.O_RDONLY | nodeDisk.constants.O_NOFOLLOW;

/**
 * Results as files: `<root>/<key>`, or `<root>/<key>.gz` where they are kept packed. A file appears under its name whole
 * or not at all, because it is written elsewhere and then linked or renamed. It is not synced: see `check`.
 *
 * A put calls the file system synchronously. The six calls it takes are a tenth of a millisecond, as they end in memory;
 * handing each to another thread and back costs ten times that. The data directory is on a local disk in any case,
 * because the ledger's log needs one. Reading and removing, which are rare and may be long, do not block.
 */
export async function openFileResultStore(
  root: string,
  parts: { readonly clock: Clock; readonly disk?: Disk },
): Promise<FileResultStore> {
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    return new FileResultStore(await realpath(root), parts.clock, parts.disk ?? nodeDisk);
  } catch (error) {
    throw asStorageTrouble(error, `cannot open the result store ${root}`);
  }
}

export class FileResultStore implements ResultStore {
  readonly #root: string;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #folders: ResultFolders;

  constructor(root: string, clock: Clock, disk: Disk) {
    this.#root = root;
    this.#clock = clock;
    this.#disk = disk;
    this.#folders = new ResultFolders(root, disk);
  }

  async put(key: string, body: Uint8Array, how: PutOptions): Promise<StoredBytes> {
    const path = resultPath(key);
    const stored = { key, size: body.byteLength, sha256: hash('sha256', body), encoding: how.encoding };
    const bytes = how.encoding === 'gzip' ? await pack(body) : body;
    for (let round = 1; round <= MAX_ROUNDS; round += 1) {
      if (this.#place(path, bytes, how)) return stored;
      const there = await this.#whatIsThere(path, key);
      // Null if it was removed since, or if two processes stepped back for each other.
      if (there !== null) return sameOrTaken(stored, there);
    }
    throw new Error(`results: others keep writing and removing ${key}`);
  }

  async get(key: string): Promise<Uint8Array | null> {
    try {
      return (await this.#read(resultPath(key)))?.body ?? null;
    } catch (error) {
      if (isDamage(error)) throw new Error(`the bytes under ${key} are damaged`, { cause: error });
      throw asStorageTrouble(error, `cannot read ${key}`);
    }
  }

  async removeAll(prefix: string): Promise<number> {
    const folders = resultFolders(prefix);
    this.#folders.forgetAll();
    try {
      const folder = this.#folders.find(folders);
      return folder === null ? 0 : await removeFolder(folder);
    } catch (error) {
      throw asStorageTrouble(error, `cannot remove ${prefix}`);
    } finally {
      this.#folders.forgetAll();
    }
  }

  /**
   * Whether the bytes that were recorded are there, whole. Files are not synced one by one, so after the machine went
   * down the last ones may be short or empty under their right name.
   */
  async check(artifact: StoredArtifact): Promise<boolean> {
    const path = resultPath(artifact.key);
    try {
      const body = await this.#readAs(path, artifact.encoding, Math.max(1, artifact.size));
      return body !== null && body.byteLength === artifact.size && hash('sha256', body) === artifact.sha256;
    } catch (error) {
      if (isDamage(error)) return false;
      throw asStorageTrouble(error, `cannot read ${artifact.key}`);
    }
  }

  /** Throws StorageTrouble if nothing can be written now. */
  async probe(): Promise<void> {
    try {
      this.#write(new Uint8Array(PROBE_BYTES), () => true);
    } catch (error) {
      throw asStorageTrouble(error, 'cannot write results');
    }
  }

  /** Removes what processes that died left unfinished; answers how many files that were. */
  async sweep(): Promise<number> {
    const folder = join(this.#root, UNFINISHED);
    const before = this.#clock.now() - OLD_MS;
    let swept = 0;
    try {
      for await (const entry of await opendir(folder)) {
        const file = join(folder, entry.name);
        const found = await lstat(file).catch(unlessMissing);
        if (!found?.isFile() || found.mtimeMs >= before) continue;
        if (this.#unlink(file)) swept += 1;
      }
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw asStorageTrouble(error, 'cannot sweep unfinished results');
    }
    return swept;
  }

  /** False if there are bytes under the key already, and they are to be kept. */
  #place(path: ResultPath, bytes: Uint8Array, { ifTaken, encoding }: PutOptions): boolean {
    const place = ifTaken === 'keep' ? this.#keep : this.#replace;
    try {
      return this.#write(bytes, (file) => {
        const folder = this.#folders.make(path.folders);
        return place.call(
          this,
          file,
          join(folder, path.names[encoding]),
          join(folder, path.names[otherThan(encoding)]),
        );
      });
    } catch (error) {
      throw asStorageTrouble(error, `cannot store ${[...path.folders, path.names[encoding]].join('/')}`);
    }
  }

  /** Writes the bytes to an unfinished file, lets `place` give it a name, and leaves nothing else behind. */
  #write(bytes: Uint8Array, place: (file: string) => boolean): boolean {
    for (let round = 1; ; round += 1) {
      try {
        const file = join(this.#folders.make([UNFINISHED]), this.#clock.id());
        try {
          this.#disk.writeFileSync(file, bytes, { flag: 'wx', mode: 0o600 });
          return place(file);
        } finally {
          this.#unlink(file);
        }
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || round === MAX_ROUNDS) throw error;
        // Another process removed a folder, or swept our file away while we were stopped.
        this.#folders.forgetAll();
      }
    }
  }

  #keep(file: string, mine: string, other: string): boolean {
    if (this.#exists(other) || !this.#linkNew(file, mine)) return false;
    if (!this.#exists(other)) return true;
    // Another process was here at the same moment and in the other encoding: whoever sees the other steps back.
    this.#unlink(mine);
    return false;
  }

  #replace(file: string, mine: string, other: string): boolean {
    this.#disk.renameSync(file, mine);
    this.#unlink(other);
    return true;
  }

  /** A link never takes the place of another, as a rename would. */
  #linkNew(file: string, name: string): boolean {
    try {
      this.#disk.linkSync(file, name);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      if (!NO_LINKS.has(codeOf(error) ?? '')) throw error;
      // A file system without links: good against earlier writers, not against one of this very moment.
      if (this.#exists(name)) return false;
      this.#disk.renameSync(file, name);
      return true;
    }
  }

  async #whatIsThere(path: ResultPath, key: string): Promise<Found | null> {
    try {
      return await this.#read(path);
    } catch (error) {
      if (isDamage(error)) throw new KeyTaken(key);
      throw asStorageTrouble(error, `cannot read ${key}`);
    }
  }

  /** A `replace` may change the encoding while we look, so nothing is nothing only if neither is there at one moment. */
  async #read(path: ResultPath): Promise<Found | null> {
    for (;;) {
      for (const encoding of ['identity', 'gzip'] as const) {
        const body = await this.#readAs(path, encoding);
        if (body !== null) return { body, encoding };
      }
      if (!this.#isThere(path)) return null;
    }
  }

  #isThere(path: ResultPath): boolean {
    const folder = this.#folders.find(path.folders);
    if (folder === null) return false;
    return Object.values(path.names).some((name) => this.#isFile(join(folder, name)));
  }

  async #readAs(path: ResultPath, encoding: ContentEncoding, maxOutputLength?: number): Promise<Uint8Array | null> {
    const folder = this.#folders.find(path.folders);
    if (folder === null) return null;
    try {
      await using handle = await open(join(folder, path.names[encoding]), TO_READ);
      const bytes = await handle.readFile();
      if (encoding === 'identity') return bytes;
      return await unpack(bytes, maxOutputLength === undefined ? {} : { maxOutputLength });
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EISDIR') return null;
      throw error;
    }
  }

  #isFile(path: string): boolean {
    return this.#disk.lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  }

  #exists(path: string): boolean {
    return this.#disk.lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  }

  #unlink(path: string): boolean {
    try {
      this.#disk.unlinkSync(path);
      return true;
    } catch (error) {
      unlessMissing(error);
      return false;
    }
  }
}

interface Found {
  readonly body: Uint8Array;
  readonly encoding: ContentEncoding;
}

const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

function sameOrTaken(stored: StoredBytes, there: Found): StoredBytes {
  if (hash('sha256', there.body) !== stored.sha256) throw new KeyTaken(stored.key);
  return { ...stored, encoding: there.encoding };
}

function otherThan(encoding: ContentEncoding): ContentEncoding {
  return encoding === 'gzip' ? 'identity' : 'gzip';
}

/** What unpacking says of a file that is short, empty, or something else; and a link where a file should be. */
function isDamage(error: unknown): boolean {
  const code = codeOf(error);
  return code !== null && (code.startsWith('Z_') || code === 'ERR_BUFFER_TOO_LARGE' || code === 'ELOOP');
}

function unlessMissing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}
