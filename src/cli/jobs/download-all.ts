import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../../config.ts';
import { type ApiError, Damaged, Refused } from '../../contract/client/api-error.ts';
import { itemPath, jobPath } from '../../contract/client/api-paths.ts';
import { readPages } from '../../contract/client/pages.ts';
import { receiveFile } from '../../contract/client/receive-file.ts';
import type { ItemAnswer, ItemPageAnswer } from '../../contract/item-answers.ts';
import type { JobStatusAnswer } from '../../contract/job-answers.ts';
import { artifactLabel } from '../../domain/artifact.ts';
import { NO_COUNTS } from '../../domain/counts.ts';
import { errorMessage } from '../../domain/error-message.ts';
import { foldName } from '../../domain/file-stem.ts';
import type { Client } from '../client/command.ts';
import { errorText } from '../client/command-failure.ts';
import { fileTarget } from '../client/file-target.ts';
import { EXIT } from '../exit-codes.ts';
import { formatBytes, formatItems, printable } from '../format.ts';
import { type Progress, RateWindow } from '../progress.ts';
import type { ProgressDisplay } from '../progress-display.ts';
import { artifactFileName, fileNameApart } from './file-names.ts';

export interface DownloadAllOptions {
  /** A kind of artifact; a named page is `page:taxes`. */
  readonly label: string;
  readonly to: string;
  /** Concurrent downloads. */
  readonly concurrency: number;
  readonly json: boolean;
}

const PAGE_SIZE = 200;

/**
 * Downloads one artifact of every item of a job into a folder, page by page. A file that already exists with the right
 * size and SHA-256 is left alone; one with other content is never overwritten.
 */
export async function downloadAll(client: Client, jobId: string, options: DownloadAllOptions): Promise<number> {
  const { api, note } = client;
  const { summary } = await api.get<JobStatusAnswer>(`${jobPath(jobId)}/status`);
  await makeFolder(options.to);
  const download = new FolderDownload(client, jobId, options, summary.total);
  try {
    await download.run();
  } finally {
    await download.stop();
  }
  const { received, there, failed, bytes } = download;
  note(
    `${options.to}: ${formatItems(received, 'file')} downloaded (${formatBytes(bytes)}), ${there} already there` +
      `${received + there + failed === 0 ? `. No item of the job has a ${options.label}` : ''}` +
      `${failed === 0 ? '' : `, ${failed} failed. To try those again, run the command again`}`,
  );
  return failed === 0 ? EXIT.done : EXIT.someItemsFailed;
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    throw new ConfigError(`--to ${path}: ${errorMessage(error)}`);
  }
}

type Artifact = ItemAnswer['artifacts'][number];

class FolderDownload {
  received = 0;
  there = 0;
  failed = 0;
  bytes = 0;
  /** Items without this artifact. */
  #without = 0;
  readonly #client: Client;
  readonly #jobId: string;
  readonly #options: DownloadAllOptions;
  readonly #total: number;
  readonly #display: ProgressDisplay;
  readonly #rate = new RateWindow();
  /**
   * Keyed by folded name: two ids that differ only in case may map to the same file and must not write it at the same
   * time.
   */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(client: Client, jobId: string, options: DownloadAllOptions, total: number) {
    this.#client = client;
    this.#jobId = jobId;
    this.#options = options;
    this.#total = total;
    this.#display = client.show(async () => this.#progress());
  }

  /** Throws the error that stopped it, such as a server that is gone, once all downloads under way have ended. */
  async run(): Promise<void> {
    const running = new Set<Promise<void>>();
    const failures: unknown[] = [];
    try {
      for await (const { item, artifact } of this.#artifacts()) {
        const one: Promise<void> = this.#take(item, artifact)
          .catch((error: unknown) => void failures.push(error))
          .finally(() => running.delete(one));
        running.add(one);
        if (running.size >= this.#options.concurrency) await Promise.race(running);
        if (failures.length > 0) break;
      }
    } finally {
      await Promise.all(running);
    }
    if (failures.length > 0) throw failures[0];
  }

  async stop(): Promise<void> {
    await this.#display.stop();
  }

  async *#artifacts(): AsyncGenerator<{ readonly item: ItemAnswer; readonly artifact: Artifact }> {
    const want = { limit: null, pageSize: PAGE_SIZE, countOf: ({ items }: ItemPageAnswer) => items.length };
    for await (const { items } of readPages<ItemPageAnswer>(
      this.#client.api,
      `${jobPath(this.#jobId)}/items`,
      {},
      want,
    )) {
      for (const item of items) {
        const artifact = item.artifacts.find((each) => labelOf(each) === this.#options.label);
        if (artifact === undefined) this.#without += 1;
        else yield { item, artifact };
      }
      this.#display.poke();
    }
  }

  /** Downloads one file. A failure is counted, unless all other files would fail the same way. */
  async #take(item: ItemAnswer, artifact: Artifact): Promise<void> {
    const name = foldName(artifactFileName(item.item_id, artifact));
    const before = this.#underWay.get(name) ?? Promise.resolve();
    const mine = before.then(() => this.#save(item, artifact));
    const settled = mine.catch(() => {});
    this.#underWay.set(name, settled);
    try {
      await mine;
    } catch (error) {
      if (!isOfOneFile(error)) throw error;
      this.failed += 1;
      this.#client.note(`${printable(item.item_id)}: ${errorText(error)}`);
    } finally {
      if (this.#underWay.get(name) === settled) this.#underWay.delete(name);
      this.#display.poke();
    }
  }

  async #save(item: ItemAnswer, artifact: Artifact): Promise<void> {
    const { path, isThere } = await this.#placeFor(item, artifact);
    if (isThere) this.there += 1;
    else {
      await this.#receive(item, path);
      this.received += 1;
      this.bytes += artifact.size;
    }
    if (!this.#options.json) return;
    const { size, sha256 } = artifact;
    const line = { item_id: item.item_id, file: path, size, sha256, downloaded: !isThere };
    await this.#client.out.write(`${JSON.stringify(line)}\n`);
  }

  /** The first name that is free or already has these bytes. */
  async #placeFor({ item_id: itemId }: ItemAnswer, artifact: Artifact) {
    const names = [
      artifactFileName(itemId, artifact),
      fileNameApart(itemId, artifact),
      fileNameApart(itemId, artifact, { isLong: true }),
    ];
    for (const name of names) {
      const path = join(this.#options.to, name);
      const state = await stateOf(path, artifact);
      if (state !== 'other') return { path, isThere: state === 'same' };
    }
    throw new Damaged(`${names.join(', ')} all exist in the folder with other content`);
  }

  async #receive({ item_id: itemId }: ItemAnswer, path: string): Promise<void> {
    const { api } = this.#client;
    const target = await fileTarget(path, { keepsUnfinished: true, option: '--to' });
    const request = { path: `${itemPath(this.#jobId, itemId)}/download`, query: { artifact: this.#options.label } };
    try {
      await receiveFile({ api, target, startHash: () => createHash('sha256'), onBytes: () => {} }, request);
      await target.finish();
    } finally {
      await target.close();
    }
  }

  #progress(): Progress {
    const success = this.received + this.there;
    const done = success + this.failed + this.#without;
    this.#rate.add(this.#client.api.clock.elapsed(), done);
    return {
      // Items may be added meanwhile.
      counts: {
        ...NO_COUNTS,
        success,
        failed: this.failed,
        skipped: this.#without,
        total: Math.max(this.#total, done),
      },
      failures: new Map(),
      perSecond: this.#rate.perSecond(),
      eta: null,
      note: null,
      pace: null,
    };
  }
}

function labelOf({ kind, name }: Artifact): string {
  return artifactLabel(name === undefined ? { kind } : { kind, name });
}

/** The artifact may have been replaced or removed since the page was read; other files may well be there. */
function isOfOneFile(error: unknown): error is ApiError {
  return error instanceof Damaged || (error instanceof Refused && error.status === 404);
}

async function stateOf(path: string, { size, sha256 }: Artifact): Promise<'free' | 'same' | 'other'> {
  const found = await stat(path).catch(() => null);
  if (found === null) return 'free';
  if (!found.isFile() || found.size !== size) return 'other';
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest('hex') === sha256 ? 'same' : 'other';
}
