import { type Digest, jobPrefix } from '../../domain/artifact.ts';
import { isFinal } from '../../domain/item.ts';
import { type JobEvent, type JobRecord, needsManifest } from '../../domain/job.ts';
import { jobMetadata, type PartHash, RECORDING_FILE } from '../../domain/job-metadata.ts';
import { isFinishing } from '../../domain/job-round.ts';
import {
  addPage,
  EMPTY_MANIFEST,
  lastParts,
  type ManifestFold,
  type ManifestPart,
  partName,
  renderPart,
  versionCounts,
} from '../../domain/manifest.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { KeptRecordings } from '../../ports/kept-recordings.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { ResultStore } from '../../ports/result-store.ts';
import { currentItems } from '../results/current-items.ts';
import type { EventStream } from './events.ts';
import type { ItemManifests } from './item-manifests.ts';
import { recoverItems } from './recover-items.ts';

/**
 * Writes the index of a finished job's results: parts as the items stream by, then the metadata that names them, then
 * one conditional write in the ledger, which completes the job: until then it reads as in progress. It may die anywhere
 * and be repeated, even by two controllers at once: the same items and policy give the same bytes. A retry that reopens
 * the job meanwhile, or replaced data, change the round, and a new policy changes the revision: then this index is
 * void.
 */
export class Finisher {
  readonly #deps: FinisherDeps;
  readonly #busy = new Map<string, Promise<unknown>>();

  constructor(deps: FinisherDeps) {
    this.#deps = deps;
  }

  /** Finishes every job that awaits it; returns how many manifests were written. */
  async runOnce(): Promise<number> {
    let written = 0;
    const read = (after: string | null) => this.#deps.ledger.activeJobs({ after, limit: 100 });
    for await (const page of walkPages(read, this.#deps.mayWork)) {
      for (const job of page.entries) {
        const ready = job.recovering ? await this.#recovered(job) : job;
        if (ready !== null && needsManifest(ready) && (await this.finish(ready))) written += 1;
      }
    }
    return written;
  }

  /** False if there was nothing to do after all: already begun, reopened, read inconsistently, or stopping. */
  async finish(job: JobRecord): Promise<boolean> {
    if (this.#busy.has(job.jobId)) return false;
    const writing = this.#writeManifest(job);
    this.#busy.set(job.jobId, writing);
    try {
      return await writing;
    } finally {
      this.#busy.delete(job.jobId);
    }
  }

  /**
   * Resolves when nothing is being written for the job; for a job that is being deleted, nothing new begins after that.
   */
  async whenDone(jobId: string): Promise<void> {
    await this.#busy.get(jobId)?.catch(() => {});
  }

  /** Failed items that can be read become successes first, because the index only contains final items. */
  async #recovered(job: JobRecord): Promise<JobRecord | null> {
    await recoverItems(this.#deps, job);
    return await this.#deps.ledger.job(job.jobId);
  }

  async #writeManifest(job: JobRecord): Promise<boolean> {
    const { ledger, faults, clock, events } = this.#deps;
    await faults.at('after-finish-before-manifest');
    const items = currentItems(ledger, job);
    const hashes: PartHash[] = [];
    let fold = EMPTY_MANIFEST;
    const all = { status: null, errorType: null };
    for await (const page of walkPages((after) => items.items(job.jobId, all, { after, limit: PAGE }))) {
      // Asked after the page was read: if the job is still over in this round, it was over when we read.
      if (!(await this.#isOurs(job))) return false;
      const unfinished = page.entries.find(({ status }) => !isFinal(status));
      if (unfinished !== undefined) return this.#readAmiss(job, `${unfinished.itemId} is ${unfinished.status}`);
      // Writes item manifests that were missed, before the job reads as completed.
      if (!(await this.#deps.itemManifests.fill(job, page.entries))) return false;
      const added = addPage(fold, page.entries);
      fold = added.fold;
      if (!(await this.#putParts(job, added.parts, hashes))) return false;
      // On one machine, reading and writing never yield: without this, everything else would wait for the whole
      // manifest.
      await clock.turn();
    }

    if (!addsUp(job, fold)) return this.#readAmiss(job, `its items add up to ${JSON.stringify(fold.seen)}`);
    const last = lastParts(fold);
    if (!(await this.#putParts(job, last.parts, hashes)) || !(await this.#isOurs(job))) return false;

    const metadata = jobMetadata(job, last.fold, hashes, await this.#putRecording(job));
    const stored = await this.#putJson(job, 'job_metadata.json', `${JSON.stringify(metadata, null, 2)}\n`);
    await faults.at('after-manifest-before-record');
    const scraperVersions = versionCounts(last.fold, job.scraperVersion).map(([version]) => version);
    const written = { metadataSha256: stored.sha256, writtenAt: clock.now() };
    const manifest = { parts: last.fold.parts, scraperVersions, ...written };
    const { round, policyRevision, incarnation } = job;
    const kind = isFinishing(job) ? 'complete' : 'manifest';
    const event: JobEvent = { kind, round, policyRevision, incarnation, manifest };
    const answer = await ledger.changeJob(job.jobId, event, clock.now());
    if (answer === 'missing' || 'refused' in answer) return false;
    events.publish({ kind: 'manifest-written', jobId: job.jobId, parts: hashes.length });
    return true;
  }

  /**
   * A ledger of many rows may be read in the middle of a write, so that a page misses what was just recorded. Such an
   * index must never count, and must not keep other jobs from theirs: the next round reads again.
   */
  #readAmiss({ jobId, counts }: JobRecord, found: string): false {
    const error = new Error(`manifest of job ${jobId}: ${found}, its counters say ${JSON.stringify(counts)}`);
    this.#deps.events.publish({ kind: 'engine-error', where: 'finisher', error });
    return false;
  }

  /**
   * Whether this index is still wanted and we should write it. Asked before each write, because all rounds use the same
   * keys: a former leader that wakes up late must not replace a newer index with an old one. What it sent before it
   * fell asleep may still arrive then; so a leader that overtook another does not write at all before that is over
   * (`handoverMs` of the controller), and a recorded index is not overwritten.
   */
  async #isOurs(job: JobRecord): Promise<boolean> {
    const current = await this.#deps.ledger.job(job.jobId);
    if (current === null || !needsManifest(current) || !this.#deps.mayWork()) return false;
    if (current.incarnation !== job.incarnation) return false;
    return current.round === job.round && current.policyRevision === job.policyRevision;
  }

  async #putParts(job: JobRecord, parts: readonly ManifestPart[], hashes: PartHash[]): Promise<boolean> {
    for (const part of parts) {
      await this.#deps.faults.at('between-manifest-parts');
      if (!(await this.#isOurs(job))) return false;
      const name = partName(part.list, part.number);
      const { sha256 } = await this.#putJson(job, name, renderPart(job.jobId, part));
      hashes.push({ list: part.list, part: part.number, items: part.entries.length, sha256 });
    }
    return true;
  }

  /** A copy with the results, so that they say by themselves which steps they come from. Null if there is none. */
  async #putRecording(job: JobRecord): Promise<{ readonly sha256: string } | null> {
    const sent = job.recording === undefined ? null : await this.#deps.recordings.get(job.recording.key);
    if (sent === null) return null;
    const { sha256 } = await this.#putJson(job, RECORDING_FILE, `${JSON.stringify(sent.document, null, 2)}\n`);
    return { sha256 };
  }

  #putJson(job: JobRecord, name: string, text: string) {
    const { store, digest } = this.#deps;
    const key = jobPrefix(job.jobId, digest) + name;
    return store.put(key, new TextEncoder().encode(text), {
      contentType: 'application/json',
      encoding: 'identity',
      ifTaken: 'replace',
    });
  }
}

/** Also true for replaced data: how the items ended is always the job's own. */
function addsUp({ counts }: JobRecord, { seen }: ManifestFold): boolean {
  const isAlike = (['success', 'failed', 'skipped', 'cancelled'] as const).every((end) => seen[end] === counts[end]);
  return isAlike && seen.success + seen.failed + seen.skipped + seen.cancelled === counts.total;
}

/** Takes a few milliseconds. */
const PAGE = 250;

export interface FinisherDeps {
  readonly ledger: Ledger;
  readonly store: ResultStore;
  readonly recordings: Pick<KeptRecordings, 'get'>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly events: EventStream;
  readonly digest: Digest;
  readonly itemManifests: Pick<ItemManifests, 'fill'>;
  readonly mayWork: () => boolean;
}
