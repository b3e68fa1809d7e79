import { type Digest, jobPrefix } from '../../domain/artifact.ts';
import type { ItemRecord, ItemStatus } from '../../domain/item.ts';
import { isManifestOf, itemManifest, itemManifestNames } from '../../domain/item-manifest.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ledger, LedgerChange, SettledItem } from '../../ports/ledger.ts';
import { KeyTaken, type ResultStore } from '../../ports/result-store.ts';
import { currentItems } from '../results/current-items.ts';
import { WrittenAttempts } from './written-attempts.ts';

/**
 * Writes `manifests/items/{item_id}.json` as items end. Only the leading controller writes them, one batch after
 * another, and from what the ledger has recorded: so they never claim what it does not know, a late worker has no
 * access to them, and what is read later is written later. A settled item is only a hint; hints may be lost, and a
 * process may die between the record and the file. The finisher passes every item to `fill` before the job is
 * completed, which writes the missing ones.
 */
export class ItemManifests {
  readonly #deps: ItemManifestsDeps;
  readonly #written = new WrittenAttempts();
  /** Items that were settled and not written yet, by job: their places, and how they ended. */
  readonly #hints = new Map<string, Map<number, SettledItem>>();
  #draining: Promise<void> | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: ItemManifestsDeps) {
    this.#deps = deps;
  }

  /** Items were settled: they will be written soon. */
  heard({ jobId, items }: Extract<LedgerChange, { kind: 'settled' }>): void {
    if (!this.#deps.mayWork()) return;
    const hints = this.#hints.get(jobId) ?? new Map<number, SettledItem>();
    this.#hints.set(jobId, hints);
    for (const item of items) if (hints.size < MAX_HINTS) hints.set(item.seq, item);
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = null;
    });
  }

  /** Writes the missing manifests of these items of a job that is over. False if we are stopping. */
  async fill(job: JobRecord, items: readonly ItemRecord[]): Promise<boolean> {
    if (!this.#areWanted(job)) return true;
    for (let at = 0; at < items.length; at += BATCH) {
      if (!(await this.#next(() => this.#write(job, items.slice(at, at + BATCH))))) return false;
    }
    return true;
  }

  /** Waits for work under way. */
  async stop(): Promise<void> {
    await this.#draining;
  }

  /**
   * Resolves when everything that has begun is written. A batch that begins later uses what the ledger says about its
   * job then.
   */
  async whenIdle(): Promise<void> {
    await this.#last;
  }

  async #drain(): Promise<void> {
    const { clock, mayWork, onError } = this.#deps;
    // Items settled at the same moment go into the same batch.
    await clock.turn();
    for (;;) {
      const [first] = this.#hints;
      if (first === undefined) return;
      const [jobId, hints] = first;
      // Moved to the end of the line, so that every job has its turn.
      this.#hints.delete(jobId);
      this.#hints.set(jobId, hints);
      try {
        if (mayWork()) await this.#next(() => this.#writeHinted(jobId, hints));
      } catch (error) {
        onError('item manifests', error);
      }
      if (hints.size === 0 || !mayWork()) this.#hints.delete(jobId);
      await clock.turn();
    }
  }

  /** Writes a batch of them, which is removed from `hints` whatever happens. */
  async #writeHinted(jobId: string, hints: Map<number, SettledItem>): Promise<void> {
    const { ledger } = this.#deps;
    const job = await ledger.job(jobId).catch((error: unknown) => {
      // Otherwise a ledger in trouble would be asked endlessly; the finisher writes them later.
      hints.clear();
      throw error;
    });
    if (job === null || job.removing || !this.#areWanted(job)) {
      hints.clear();
      return;
    }
    const seqs = this.#takeWanted(job, hints);
    const items: ItemRecord[] = [];
    for (const { first, length } of runsOf(seqs)) {
      const found = await currentItems(ledger, job).itemsAt(jobId, first, length);
      items.push(...found.filter(({ seq }) => seqs.includes(seq)));
    }
    await this.#write(job, items);
  }

  /**
   * The places of a batch, in order. Items without files are left out: reading one costs half as much as settling it.
   */
  #takeWanted(job: JobRecord, hints: Map<number, SettledItem>): readonly number[] {
    const seqs: number[] = [];
    for (const [seq, { status, artifacts }] of hints) {
      if (seqs.length >= BATCH) break;
      hints.delete(seq);
      if (this.#isWanted(job, status, artifacts)) seqs.push(seq);
    }
    return seqs.sort((one, other) => one - other);
  }

  /** The policy decides; if it does not, the default for the result store applies. */
  #areWanted({ policy }: JobRecord): boolean {
    return policy.results.item_manifests ?? this.#deps.byDefault;
  }

  /**
   * Unless requested, no manifest is written for an item without files: it would cost more than everything else about
   * such an item.
   */
  #isWanted({ policy }: JobRecord, status: ItemStatus, artifacts: number): boolean {
    return policy.results.item_manifests === true || status !== 'success' || artifacts > 0;
  }

  async #write(job: JobRecord, items: readonly ItemRecord[]): Promise<boolean> {
    const written = this.#written.of(job);
    const due = items.flatMap((item) => {
      const manifest = this.#isWanted(job, item.status, item.artifacts.length) ? itemManifest(item) : null;
      return manifest === null || written.has(item.seq, manifest.attempt) ? [] : [{ item, ...manifest }];
    });
    // Asked last: a file written after the others were removed would remain for the next job with that id.
    if (due.length === 0 || !(await this.#isThere(job))) return due.length === 0;
    const ends = await Promise.all(
      due.map(async ({ item, attempt, text }) => {
        if (!(await this.#place(job, item.itemId, text))) return false;
        written.add(item.seq, attempt);
        return true;
      }),
    );
    return ends.every(Boolean);
  }

  async #isThere({ jobId, incarnation }: JobRecord): Promise<boolean> {
    const current = await this.#deps.ledger.job(jobId);
    return current !== null && !current.removing && current.incarnation === incarnation;
  }

  /**
   * The first bytes under a name stay unless they are this item's own: so if two ids have the same name on this disk,
   * neither overwrites the other's file, in whichever order they are written. False if we are stopping.
   */
  async #place({ jobId }: JobRecord, itemId: string, text: string): Promise<boolean> {
    const { store, digest, mayWork } = this.#deps;
    const [plain, apart] = itemManifestNames(itemId, digest).map((name) => jobPrefix(jobId, digest) + name);
    const body = new TextEncoder().encode(text);
    const put = async (key: string, ifTaken: 'keep' | 'replace') => {
      if (!mayWork()) return false;
      await store.put(key, body, { contentType: 'application/json', encoding: 'identity', ifTaken });
      return true;
    };
    if (plain === undefined || apart === undefined) return false;
    try {
      return await put(plain, 'keep');
    } catch (error) {
      if (!(error instanceof KeyTaken)) throw error;
    }
    const there = await store.get(plain);
    const isOurs = there === null || isManifestOf(new TextDecoder().decode(there), itemId);
    return await put(isOurs ? plain : apart, 'replace');
  }

  /** One batch after another, so that what was read later is written later. */
  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}

/** Enough to keep a bucket busy; on a disk some ten milliseconds. */
const BATCH = 32;

/** Limit per job. Beyond that it is cheaper to wait for the finisher, which reads all items anyway. */
const MAX_HINTS = 10_000;

/** Places close to each other are read together. */
function runsOf(seqs: readonly number[]): readonly { readonly first: number; readonly length: number }[] {
  const runs: { first: number; length: number }[] = [];
  for (const seq of seqs) {
    const run = runs.at(-1);
    if (run !== undefined && seq - run.first < 2 * BATCH) run.length = seq - run.first + 1;
    else runs.push({ first: seq, length: 1 });
  }
  return runs;
}

interface ItemManifestsDeps {
  readonly ledger: Ledger;
  readonly store: ResultStore;
  readonly clock: Pick<Clock, 'turn'>;
  readonly digest: Digest;
  /** The default if a policy does not decide: true where an extra file per item costs only space. */
  readonly byDefault: boolean;
  readonly mayWork: () => boolean;
  readonly onError: (where: string, error: unknown) => void;
}
