import { hash } from 'node:crypto';
import * as nodeDisk from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContentEncoding, StoredArtifact } from '../../domain/artifact.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type ByteRange,
  cutRange,
  type Draft,
  KeyTaken,
  type Put,
  type PutOptions,
  type RemovalWatch,
  type ResultStore,
  type StoredBytes,
  UNWATCHED,
} from '../../ports/result-store.ts';
import { StorageTrouble } from '../../ports/storage-trouble.ts';
import { asStorageTrouble, codeOf } from './disk-trouble.ts';
import { pack, unpack } from './ledger/packing.ts';
import { FileDraft, type OpenDraftFile } from './results/file-draft.ts';
import { removeFolder } from './results/remove-folder.ts';
import { ResultFolders } from './results/result-folders.ts';
import { findHome, type Opening } from './results/result-home.ts';
import { type ResultPath, resultFolders, resultPath } from './results/result-path.ts';
import { type Placed, ResultPlacing } from './results/result-placing.ts';
import { isMissing, type ResultRoot } from './results/result-root.ts';
import { seeFile, streamBytes, streamFile, TO_READ } from './results/result-stream.ts';
import { type Disk, MAX_ROUNDS, UnfinishedResults } from './results/unfinished-results.ts';

export type { Disk } from './results/unfinished-results.ts';

const PROBE_BYTES = 64 * 1024;

/**
 * Results as files: `<root>/<key>`, or `<root>/<key>.gz` where they are kept packed. A file appears under its name whole
 * or not at all, because it is written elsewhere and then linked or renamed. It is not synced: see `check`.
 *
 * A put calls the file system synchronously. The few calls it takes are a tenth of a millisecond, as they end in memory;
 * handing each to another thread and back costs ten times that. The data directory is on a local disk in any case,
 * because the ledger's log needs one. Reading, removing and the writing of large drafts, which may be long, do not block.
 */
export async function openFileResultStore(
  root: string,
  parts: {
    readonly clock: Clock;
    readonly disk?: Disk;
    readonly openDraftFile?: OpenDraftFile;
    readonly opening?: Opening;
  },
): Promise<FileResultStore> {
  const { opening = { as: 'anyone' }, disk = nodeDisk, ...rest } = parts;
  try {
    return new FileResultStore(findHome(root, opening, parts.clock, disk), { ...rest, disk });
  } catch (error) {
    const doing = `cannot open the result store ${root}`;
    if (opening.as === 'guest' && isMissing(error)) throw new StorageTrouble('io', `${doing}: it is missing`, error);
    throw asStorageTrouble(error, doing);
  }
}

export class FileResultStore implements ResultStore {
  readonly #clock: Clock;
  readonly #root: ResultRoot;
  readonly #disk: Disk;
  readonly #folders: ResultFolders;
  readonly #unfinished: UnfinishedResults;
  readonly #placing: ResultPlacing;
  readonly #openDraftFile: OpenDraftFile | undefined;

  constructor(
    root: ResultRoot,
    parts: { readonly clock: Clock; readonly disk: Disk; readonly openDraftFile?: OpenDraftFile },
  ) {
    this.#clock = parts.clock;
    this.#root = root;
    this.#disk = parts.disk;
    this.#folders = new ResultFolders(root.path, parts.disk);
    this.#unfinished = new UnfinishedResults(root, parts.clock, parts.disk, this.#folders);
    this.#placing = new ResultPlacing(parts.disk, this.#folders, this.#unfinished);
    this.#openDraftFile = parts.openDraftFile;
  }

  async put(
    key: string,
    body: Uint8Array | Draft,
    { contentType, encoding, ifTaken }: PutOptions,
  ): Promise<StoredBytes> {
    const put: Put = { key, body, contentType, encoding, ifTaken };
    return await endingDrafts([put], async () => this.#placeOne(await prepared(put)));
  }

  async putAll(puts: readonly Put[]): Promise<readonly StoredBytes[]> {
    return await endingDrafts(puts, async () => {
      const files: Prepared[] = [];
      for (const put of puts) files.push(await prepared(put));
      if (areInOneFolder(files) && this.#placeFolder(files)) return files.map(({ stored }) => stored);
      const answers: StoredBytes[] = [];
      for (const file of files) answers.push(await this.#placeOne(file));
      return answers;
    });
  }

  draft(): Draft {
    return new FileDraft(this.#unfinished, this.#openDraftFile);
  }

  async get(key: string): Promise<Uint8Array | null> {
    try {
      return (await this.#read(resultPath(key)))?.body ?? null;
    } catch (error) {
      throw cannotRead(key, this.#root.explain(error));
    }
  }

  /** What is kept packed is unpacked here and now, whole: it was whole in memory when it was put, too. */
  async open(key: string, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    // What is no range is refused, whether or not there are bytes.
    cutRange(range, 0);
    try {
      return await this.#findEither(resultPath(key), (path, encoding) =>
        encoding === 'identity' ? this.#openFile(key, path, range) : this.#openPacked(path, range),
      );
    } catch (error) {
      throw cannotRead(key, this.#root.explain(error));
    }
  }

  async removeAll(prefix: string, watch: RemovalWatch = UNWATCHED): Promise<number | null> {
    const folders = resultFolders(prefix);
    this.#folders.forgetAll();
    try {
      const taken = this.#unfinished.again(() => {
        const folder = this.#folders.find(folders);
        if (folder === null) return 'nothing';
        return watch.mayGoOn() ? { folder, path: this.#unfinished.takeAway(folder) } : 'stopped';
      });
      if (taken === 'stopped') return null;
      if (taken === 'nothing') {
        this.#root.check();
        watch.onClear();
        return 0;
      }
      const isMoved = taken.path !== taken.folder;
      if (isMoved) watch.onClear();
      const removed = await removeFolder(taken.path, () => watch.mayGoOn());
      if (!isMoved && removed !== null) watch.onClear();
      return removed;
    } catch (error) {
      throw asStorageTrouble(this.#root.explain(error), `cannot remove ${prefix}`);
    } finally {
      // Where it could not be moved away at once, folders were found while it was removed.
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
      if (body === null) this.#root.check();
      return body !== null && body.byteLength === artifact.size && hash('sha256', body) === artifact.sha256;
    } catch (error) {
      if (isDamage(error)) return false;
      throw asStorageTrouble(this.#root.explain(error), `cannot read ${artifact.key}`);
    }
  }

  /** Throws StorageTrouble if nothing can be written now. */
  async probe(): Promise<void> {
    try {
      this.#unfinished.withFile(new Uint8Array(PROBE_BYTES), () => true);
    } catch (error) {
      throw asStorageTrouble(this.#root.explain(error), 'cannot write results');
    }
  }

  /** Removes what processes that died left unfinished; answers how many files and folders that were. */
  async sweep(): Promise<number> {
    try {
      return await this.#unfinished.sweep();
    } catch (error) {
      throw asStorageTrouble(error, 'cannot sweep unfinished results');
    }
  }

  /** Sweeps every `everyMs` until `signal` aborts. */
  async sweepEvery(everyMs: number, signal: AbortSignal, onTrouble: (error: unknown) => void): Promise<void> {
    for (;;) {
      await this.#clock.sleep(everyMs, signal);
      if (signal.aborted) return;
      await this.sweep().catch(onTrouble);
    }
  }

  async #placeOne(file: Prepared): Promise<StoredBytes> {
    const { path, stored } = file;
    for (let round = 1; round <= MAX_ROUNDS; round += 1) {
      if (this.#trying(stored.key, () => this.#placing.placeFile(file))) return stored;
      const there = await this.#whatIsThere(path, stored.key);
      // Null if it was removed since, or if two processes stepped back for each other.
      if (there !== null) return sameOrTaken(stored, there);
    }
    throw new Error(`results: others keep writing and removing ${stored.key}`);
  }

  #placeFolder(files: readonly Prepared[]): boolean {
    return this.#trying(files[0]?.stored.key ?? '', () => this.#placing.placeNewFolder(files));
  }

  #trying<T>(key: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw asStorageTrouble(this.#root.explain(error), `cannot store ${key}`);
    }
  }

  async #whatIsThere(path: ResultPath, key: string): Promise<Found | null> {
    try {
      return await this.#read(path);
    } catch (error) {
      if (isDamage(error)) throw new KeyTaken(key);
      throw asStorageTrouble(this.#root.explain(error), `cannot read ${key}`);
    }
  }

  /** A `replace` may change the encoding while we look, so nothing is nothing only if neither is there at one moment. */
  async #findEither<T>(
    path: ResultPath,
    look: (path: ResultPath, encoding: ContentEncoding) => Promise<T | null>,
  ): Promise<T | null> {
    for (;;) {
      for (const encoding of ['identity', 'gzip'] as const) {
        const found = await look(path, encoding);
        if (found !== null) return found;
      }
      if (this.#isThere(path)) continue;
      // Nothing is there either when the whole store is gone: that says nothing about what was put.
      this.#root.check();
      return null;
    }
  }

  #read(path: ResultPath): Promise<Found | null> {
    return this.#findEither(path, async (at, encoding) => {
      const body = await this.#readAs(at, encoding);
      return body === null ? null : { body, encoding };
    });
  }

  async #openFile(key: string, path: ResultPath, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    const folder = this.#folders.find(path.folders);
    if (folder === null) return null;
    const file = await unlessMissing(seeFile(join(folder, path.names.identity)));
    if (file === null) return null;
    return {
      async *[Symbol.asyncIterator]() {
        try {
          yield* streamFile(file, cutRange(range, file.size));
        } catch (error) {
          const isOther = codeOf(error) === null || codeOf(error) === 'ENOENT';
          if (isOther) throw new Error(`the bytes under ${key} are not those that were opened`, { cause: error });
          throw cannotRead(key, error);
        }
      },
    };
  }

  async #openPacked(path: ResultPath, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    const body = await this.#readAs(path, 'gzip');
    if (body === null) return null;
    return { [Symbol.asyncIterator]: () => streamBytes(body, cutRange(range, body.byteLength)) };
  }

  #isThere(path: ResultPath): boolean {
    const folder = this.#folders.find(path.folders);
    if (folder === null) return false;
    return Object.values(path.names).some((name) => this.#isFile(join(folder, name)));
  }

  async #readAs(path: ResultPath, encoding: ContentEncoding, maxOutputLength?: number): Promise<Uint8Array | null> {
    const folder = this.#folders.find(path.folders);
    if (folder === null) return null;
    const bytes = await unlessMissing(wholeFile(join(folder, path.names[encoding])));
    if (bytes === null || encoding === 'identity') return bytes;
    return await unpack(bytes, maxOutputLength);
  }

  #isFile(path: string): boolean {
    return this.#disk.lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  }
}

async function wholeFile(path: string): Promise<Uint8Array> {
  await using handle = await open(path, TO_READ);
  return await handle.readFile();
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EISDIR') return null;
    throw error;
  }
}

/** Drafts are gone when their put is over, unless its key was taken: then they are the caller's again. */
async function endingDrafts<T>(puts: readonly Put[], work: () => Promise<T>): Promise<T> {
  const drafts = puts.flatMap(({ body }) => (body instanceof FileDraft ? [body] : []));
  let isTaken = false;
  try {
    return await work();
  } catch (error) {
    isTaken = error instanceof KeyTaken;
    throw error;
  } finally {
    for (const draft of drafts) {
      if (isTaken) draft.giveBack();
      else await draft.remove();
    }
  }
}

/** A put that only needs its place: hashed, packed, its draft taken. */
interface Prepared extends Placed {
  readonly stored: StoredBytes;
}

async function prepared({ key, body, encoding, ifTaken }: Put): Promise<Prepared> {
  const path = resultPath(key);
  if (body instanceof Uint8Array) {
    const stored = { key, size: body.byteLength, sha256: hash('sha256', body), encoding };
    return { path, content: encoding === 'gzip' ? await pack(body) : body, encoding, ifTaken, stored };
  }
  if (!(body instanceof FileDraft)) throw new Error(`the draft for ${key} is not one of this store`);
  const { content, size, sha256 } = await body.take();
  return { path, content, encoding: 'identity', ifTaken, stored: { key, size, sha256, encoding: 'identity' } };
}

/** The same key twice is not for one folder: the second put has to meet the first. */
function areInOneFolder(files: readonly Prepared[]): boolean {
  const folder = files[0]?.path.folders.join('/');
  return (
    files.every(({ path }) => path.folders.join('/') === folder) &&
    new Set(files.map(({ stored }) => stored.key)).size === files.length
  );
}

interface Found {
  readonly body: Uint8Array;
  readonly encoding: ContentEncoding;
}

function sameOrTaken(stored: StoredBytes, there: Found): StoredBytes {
  if (hash('sha256', there.body) !== stored.sha256) throw new KeyTaken(stored.key);
  return { ...stored, encoding: there.encoding };
}

function cannotRead(key: string, error: unknown): unknown {
  if (isDamage(error)) return new Error(`the bytes under ${key} are damaged`, { cause: error });
  return asStorageTrouble(error, `cannot read ${key}`);
}

/** What unpacking says of a file that is short, empty, or something else; and a link where a file should be. */
function isDamage(error: unknown): boolean {
  const code = codeOf(error);
  return code !== null && (code.startsWith('Z_') || code === 'ERR_BUFFER_TOO_LARGE' || code === 'ELOOP');
}
