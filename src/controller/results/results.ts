import { hash } from 'node:crypto';
import { z } from 'zod';
import { type Digest, jobPrefix } from '../../domain/artifact.ts';
import { type ItemStatus, isFinal } from '../../domain/item.ts';
import type { JobRecord } from '../../domain/job.ts';
import {
  ITEMS_PER_PART,
  MANIFEST_LISTS,
  type ManifestList,
  type ManifestSummary,
  manifestEntry,
  partName,
  renderPart,
} from '../../domain/manifest.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ItemBook } from '../../ports/ledger.ts';
import type { ResultStore } from '../../ports/result-store.ts';

/**
 * A job's results in parts, at any time. After the manifest is written they are its parts, as stored. Until then a part is
 * built on request, in the same shape: part N has those of the items from N × 1,000 on that are final so far and pass the
 * filter. So part N of `all` has about the same thousand items before and after the end. The parts of `success` and
 * `errors` are thin while the job runs; in the manifest, each but the last is full.
 */
interface ResultsDeps {
  readonly ledger: Pick<ItemBook, 'itemsAt'>;
  readonly store: Pick<ResultStore, 'get'>;
  readonly digest: Digest;
  readonly clock: Pick<Clock, 'turn'>;
}

type ResultFilter = 'all' | 'success' | 'errors';

export interface Results {
  /** False until there is a manifest. */
  readonly final: boolean;
  readonly parts: readonly ResultPart[];
}

interface ResultPart {
  readonly part: number;
  /** Null, like the hash, as long as it may change, and if the manifest's information about its parts is damaged. */
  readonly items: number | null;
  readonly sha256: string | null;
}

export async function listResults(
  deps: Pick<ResultsDeps, 'store' | 'digest'>,
  job: JobRecord,
  filter: ResultFilter,
): Promise<Results> {
  const list = LISTS[filter];
  const count = partCount(job, list);
  const known = job.manifest === null ? new Map() : await readHashes(deps, job.jobId, job.manifest, list);
  return {
    final: job.manifest !== null,
    parts: Array.from({ length: count }, (_, part) => ({ part, ...(known.get(part) ?? UNKNOWN) })),
  };
}

/** The part as JSON text. Null beyond the last one, and for one that is gone because its job is being removed. */
export async function readPart(
  deps: ResultsDeps,
  job: JobRecord,
  filter: ResultFilter,
  number: number,
): Promise<string | null> {
  const list = LISTS[filter];
  if (!Number.isSafeInteger(number) || number < 0 || number >= partCount(job, list)) return null;
  return job.manifest === null ? await partSoFar(deps, job, list, number) : await partKept(deps, job, list, number);
}

const LISTS = { all: 'full', success: 'success', errors: 'errors' } as const satisfies Record<
  ResultFilter,
  ManifestList
>;

const UNKNOWN = { items: null, sha256: null } as const;

/** At least one, as in a manifest: a reader always finds part 0. */
function partCount(job: JobRecord, list: ManifestList): number {
  return job.manifest?.parts[list] ?? Math.max(1, Math.ceil(job.counts.total / ITEMS_PER_PART));
}

async function partSoFar(
  { ledger, clock }: ResultsDeps,
  { jobId }: JobRecord,
  list: ManifestList,
  number: number,
): Promise<string> {
  const entries: string[] = [];
  const end = (number + 1) * ITEMS_PER_PART;
  for (let first = number * ITEMS_PER_PART; first < end; ) {
    const items = await ledger.itemsAt(jobId, first, end - first);
    if (items.length === 0) break;
    entries.push(...items.filter(({ status }) => standsIn(list, status)).map(manifestEntry));
    first += items.length;
    // Large items are read a few at a time, and other tasks run in between.
    await clock.turn();
  }
  return renderPart(jobId, { list, number, entries });
}

function standsIn(list: ManifestList, status: ItemStatus): boolean {
  if (list === 'full') return isFinal(status);
  return status === (list === 'success' ? 'success' : 'failed');
}

async function partKept(
  { store, digest }: ResultsDeps,
  { jobId }: JobRecord,
  list: ManifestList,
  number: number,
): Promise<string | null> {
  const bytes = await store.get(jobPrefix(jobId, digest) + partName(list, number));
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

const hashesSchema = z.object({
  part_hashes: z.array(
    z.object({
      list: z.enum(MANIFEST_LISTS),
      part: z.int().min(0),
      items: z.int().min(0),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});

/**
 * Only from the metadata that the ledger knows: all rounds use the same key, and a newer round may be about to write
 * its own.
 */
async function readHashes(
  { store, digest }: Pick<ResultsDeps, 'store' | 'digest'>,
  jobId: string,
  manifest: ManifestSummary,
  list: ManifestList,
): Promise<ReadonlyMap<number, Omit<ResultPart, 'part'>>> {
  const bytes = await store.get(`${jobPrefix(jobId, digest)}job_metadata.json`);
  if (bytes === null || hash('sha256', bytes) !== manifest.metadataSha256) return new Map();
  const { part_hashes: hashes } = hashesSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
  return new Map(
    hashes.filter((each) => each.list === list).map(({ part, items, sha256 }) => [part, { items, sha256 }]),
  );
}
