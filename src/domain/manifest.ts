import { presentFailure } from './failure.ts';
import { countAttempts, type FinalStatus, type ItemRecord, skipReasonOf } from './item.ts';
import { presentAttemptUsage } from './present-usage.ts';
import { sliceFields } from './result-address.ts';

/**
 * The index of a job's results, as a fold over its items in order: pages go in, finished parts come out, and only one
 * unfinished part per list is kept in between, whatever the size of the job.
 */
export const MANIFEST_LISTS = ['full', 'success', 'errors'] as const;
export type ManifestList = (typeof MANIFEST_LISTS)[number];

export const ITEMS_PER_PART = 1000;

export interface ManifestPart {
  readonly list: ManifestList;
  /** 0-based. */
  readonly number: number;
  /** Entries as JSON, made only once because most of them are in two lists. */
  readonly entries: readonly string[];
}

/** The ledger's summary of a manifest; the hash of each part is in `job_metadata.json`. */
export interface ManifestSummary {
  readonly parts: Readonly<Record<ManifestList, number>>;
  readonly metadataSha256: string;
  /** Scraper versions that ran; absent in manifests from before they were recorded. */
  readonly scraperVersions?: readonly string[];
  readonly writtenAt: number;
}

export interface ManifestFold {
  readonly open: Readonly<Record<ManifestList, readonly string[]>>;
  readonly parts: Readonly<Record<ManifestList, number>>;
  readonly seen: Readonly<Record<FinalStatus, number>>;
  /** Items by the version that ended them; null stands for the version the job was created with. */
  readonly versions: ReadonlyMap<string | null, number>;
}

export const EMPTY_MANIFEST: ManifestFold = {
  open: { full: [], success: [], errors: [] },
  parts: { full: 0, success: 0, errors: 0 },
  seen: { success: 0, failed: 0, skipped: 0, cancelled: 0 },
  versions: new Map(),
};

/** Takes a page of final items. Throws for an item that is not final, which is a bug of the caller. */
export function addPage(
  fold: ManifestFold,
  items: readonly ItemRecord[],
): { readonly fold: ManifestFold; readonly parts: readonly ManifestPart[] } {
  const seen = { ...fold.seen };
  const versions = new Map(fold.versions);
  const added: Record<ManifestList, string[]> = { full: [], success: [], errors: [] };
  for (const item of items) {
    const { status } = item;
    if (status === 'pending' || status === 'queued' || status === 'in_progress') {
      throw new Error(`manifest: item ${item.itemId} of job ${item.jobId} is ${status}, not final`);
    }
    seen[status] += 1;
    countVersion(versions, item);
    const entry = manifestEntry(item);
    added.full.push(entry);
    if (status === 'success') added.success.push(entry);
    if (status === 'failed') added.errors.push(entry);
  }
  const parts: ManifestPart[] = [];
  const open = { ...fold.open };
  const numbers = { ...fold.parts };
  for (const list of MANIFEST_LISTS) {
    if (added[list].length === 0) continue;
    let entries = open[list].length === 0 ? added[list] : [...open[list], ...added[list]];
    while (entries.length >= ITEMS_PER_PART) {
      parts.push({ list, number: numbers[list], entries: entries.slice(0, ITEMS_PER_PART) });
      numbers[list] += 1;
      entries = entries.slice(ITEMS_PER_PART);
    }
    open[list] = entries;
  }
  return { fold: { open, parts: numbers, seen, versions }, parts };
}

/** No job sees more releases than this; beyond it, each item still names its own version. */
const MAX_VERSIONS = 20;

/** Counts versions of the job's own scraper: data from another scraper name it in their entry. */
function countVersion(versions: Map<string | null, number>, { attempts }: ItemRecord): void {
  const last = attempts.at(-1);
  // Without a try no scraper ran: there was none, or its worker died.
  if (last === undefined || last.tries === 0 || last.scraperId !== undefined) return;
  const version = last.scraperVersion ?? null;
  if (versions.has(version) || versions.size < MAX_VERSIONS) versions.set(version, (versions.get(version) ?? 0) + 1);
}

/** How many items each scraper version ended, most first. */
export function versionCounts(fold: ManifestFold, jobVersion: string): readonly (readonly [string, number])[] {
  const counted = [...fold.versions].map(([version, items]) => [version ?? jobVersion, items] as const);
  return counted.toSorted(([, one], [, other]) => other - one);
}

/** The unfinished parts. A list without items has one empty part, so that a reader always finds `part-0`. */
export function lastParts(fold: ManifestFold): {
  readonly fold: ManifestFold;
  readonly parts: readonly ManifestPart[];
} {
  const parts: ManifestPart[] = [];
  const numbers = { ...fold.parts };
  for (const list of MANIFEST_LISTS) {
    if (fold.open[list].length === 0 && numbers[list] > 0) continue;
    parts.push({ list, number: numbers[list], entries: fold.open[list] });
    numbers[list] += 1;
  }
  return { fold: { open: EMPTY_MANIFEST.open, parts: numbers, seen: fold.seen, versions: fold.versions }, parts };
}

export function renderPart(jobId: string, part: ManifestPart): string {
  const head = JSON.stringify({ job_id: jobId, list: part.list, part: part.number, count: part.entries.length });
  return `${head.slice(0, -1)},"items":[\n${part.entries.join(',\n')}\n]}\n`;
}

export function partName(list: ManifestList, number: number): string {
  return `manifests/${list}/part-${number}.json`;
}

/**
 * One line of a part, as JSON. Includes `scraper_id` and `scraper_version` only if they differ from
 * `job_metadata.json`.
 */
export function manifestEntry(item: ItemRecord): string {
  const last = item.attempts.at(-1);
  const first = item.attempts.at(0);
  const failure = item.status === 'failed' ? last?.failure : null;
  const used = item.attempts.some(({ usage }) => usage !== undefined) ? presentAttemptUsage(item.attempts) : null;
  const lastAt = last ? new Date(last.startedAt).toISOString() : null;
  // Written field by field: a job has one entry per item, and spreading objects takes longer than writing them.
  return JSON.stringify({
    item_id: item.itemId,
    status: item.status,
    attempts: countAttempts(item),
    tries: last?.tries ?? 0,
    first_attempt_at: first === undefined || first === last ? lastAt : new Date(first.startedAt).toISOString(),
    last_attempt_at: lastAt,
    duration_ms: last?.durationMs ?? null,
    // JSON leaves these out if they are undefined.
    requests: used?.requests,
    bytes_up: used?.bytes_up,
    bytes_down: used?.bytes_down,
    skip_reason: skipReasonOf(item) ?? undefined,
    scraper_id: last?.scraperId,
    scraper_version: last?.scraperVersion,
    error: failure ? presentFailure(failure) : null,
    artifacts: item.artifacts.map((artifact) => ({
      kind: artifact.kind,
      ...(artifact.name === undefined ? {} : { name: artifact.name }),
      key: artifact.key,
      ...sliceFields(artifact),
      size: artifact.size,
      sha256: artifact.sha256,
      encoding: artifact.encoding,
    })),
  });
}
