import { hash } from 'node:crypto';
import * as nodeDisk from 'node:fs';
import type { StoredArtifact } from '../../domain/artifact.ts';
import type { ByteRange, ResultAddress } from '../../domain/result-address.ts';
import { type DraftPlace, SpillingDraft } from '../../domain/spilling-draft.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type Draft,
  endingDrafts,
  KeyTaken,
  type Put,
  type PutOptions,
  type RemovalWatch,
  type ResultStore,
  type StoredBytes,
  UNWATCHED,
} from '../../ports/result-store.ts';
import { StorageTrouble } from '../../ports/storage-trouble.ts';
import { asStorageTrouble } from './disk-trouble.ts';
import { pack } from './ledger/packing.ts';
import { type DraftFile, draftFiles, type OpenDraftFile } from './results/draft-files.ts';
import { removeFolder } from './results/remove-folder.ts';
import { ResultFolders } from './results/result-folders.ts';
import { findHome, type Opening } from './results/result-home.ts';
import { type ResultPath, resultFolders, resultPath } from './results/result-path.ts';
import { type Placed, ResultPlacing } from './results/result-placing.ts';
import { type FoundBody, isDamage, ResultReading } from './results/result-reading.ts';
import { isMissing, type ResultRoot } from './results/result-root.ts';
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
  readonly #folders: ResultFolders;
  readonly #unfinished: UnfinishedResults;
  readonly #placing: ResultPlacing;
  readonly #reading: ResultReading;
  readonly #drafts: DraftPlace<DraftFile>;

  constructor(
    root: ResultRoot,
    parts: { readonly clock: Clock; readonly disk: Disk; readonly openDraftFile?: OpenDraftFile },
  ) {
    this.#clock = parts.clock;
    this.#root = root;
    this.#folders = new ResultFolders(root.path, parts.disk);
    this.#unfinished = new UnfinishedResults(root, parts.clock, parts.disk, this.#folders);
    this.#placing = new ResultPlacing(parts.disk, this.#folders, this.#unfinished);
    this.#reading = new ResultReading({ root, folders: this.#folders, disk: parts.disk });
    this.#drafts = draftFiles(this.#unfinished, parts.openDraftFile);
  }

  async put(
    key: string,
    body: Uint8Array | Draft,
    { contentType, encoding, ifTaken }: PutOptions,
  ): Promise<StoredBytes> {
    const put: Put = { key, body, contentType, encoding, ifTaken };
    return await endingDrafts([put], this.#drafts, async () => this.#placeOne(await this.#prepared(put)));
  }

  async putAll(puts: readonly Put[]): Promise<readonly StoredBytes[]> {
    return await endingDrafts(puts, this.#drafts, async () => {
      const files: Prepared[] = [];
      for (const put of puts) files.push(await this.#prepared(put));
      if (areInOneFolder(files) && this.#placeFolder(files)) return files.map(({ stored }) => stored);
      const answers: StoredBytes[] = [];
      for (const file of files) answers.push(await this.#placeOne(file));
      return answers;
    });
  }

  draft(): Draft {
    return new SpillingDraft(this.#drafts);
  }

  get(at: string | ResultAddress): Promise<Uint8Array | null> {
    return this.#reading.get(at);
  }

  open(at: string | ResultAddress, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    return this.#reading.open(at, range);
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
      // If it could not be moved away at once, folders were found while it was removed.
      this.#folders.forgetAll();
    }
  }

  /**
   * Whether the recorded bytes are complete. Files are not synced one by one, so after a crash of the machine the last
   * ones may be short or empty under their right name.
   */
  check(artifact: StoredArtifact): Promise<boolean> {
    return this.#reading.check(artifact);
  }

  /** Throws StorageTrouble if nothing can be written now. */
  async probe(): Promise<void> {
    try {
      this.#unfinished.withFile(new Uint8Array(PROBE_BYTES), () => {}, 'leaves it');
    } catch (error) {
      throw asStorageTrouble(this.#root.explain(error), 'cannot write results');
    }
  }

  /** Removes unfinished files of dead processes; returns how many files and folders there were. */
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

  async #prepared({ key, body, encoding, ifTaken }: Put): Promise<Prepared> {
    const path = resultPath(key);
    if (body instanceof Uint8Array) {
      const stored = { key, size: body.byteLength, sha256: hash('sha256', body), encoding };
      return { path, content: encoding === 'gzip' ? await pack(body) : body, encoding, ifTaken, stored };
    }
    if (!SpillingDraft.isIn(body, this.#drafts)) throw new Error(`the draft for ${key} is not one of this store`);
    const { content: taken, size, sha256 } = await body.take();
    const content = 'bytes' in taken ? taken.bytes : { file: taken.spilled.path };
    return { path, content, encoding: 'identity', ifTaken, stored: { key, size, sha256, encoding: 'identity' } };
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

  async #whatIsThere(path: ResultPath, key: string): Promise<FoundBody | null> {
    try {
      return await this.#reading.find(path);
    } catch (error) {
      if (isDamage(error)) throw new KeyTaken(key);
      throw asStorageTrouble(this.#root.explain(error), `cannot read ${key}`);
    }
  }
}

/** A put that only needs its place: hashed, packed, its draft taken. */
interface Prepared extends Placed {
  readonly stored: StoredBytes;
}

/** A repeated key cannot share the folder: the second put must meet the first. */
function areInOneFolder(files: readonly Prepared[]): boolean {
  const folder = files[0]?.path.folders.join('/');
  return (
    files.every(({ path }) => path.folders.join('/') === folder) &&
    new Set(files.map(({ stored }) => stored.key)).size === files.length
  );
}

function sameOrTaken(stored: StoredBytes, there: FoundBody): StoredBytes {
  if (hash('sha256', there.body) !== stored.sha256) throw new KeyTaken(stored.key);
  return { ...stored, encoding: there.encoding };
}
