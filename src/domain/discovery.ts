import { DISCOVERY_COUNTS, type Discovery, NO_DISCOVERY } from './discovery-counts.ts';
import type { Found } from './found.ts';
import type { NewItem, RepeatedItem } from './item.ts';
import type { JobRecord } from './job.ts';
import type { Progress } from './job-progress.ts';

/** The fields of a job that decide about its finds. */
export type FindingJob = Pick<JobRecord, 'status' | 'policy' | 'plan' | 'extracts' | 'removing' | 'discovery'>;

/** Finds that may become items of the job, unless it already has them; and the number of those that cannot. */
export interface Wanted {
  readonly items: readonly NewItem[];
  readonly counts: Discovery;
}

/**
 * The first step of adding finds; the second is to look up which of the items the job already has. The sample of a plan
 * and a re-extraction are about a fixed set of items, and a cancelled job accepts none.
 */
export function wantedFinds(job: FindingJob, finds: readonly Found[]): Wanted {
  const items: NewItem[] = [];
  const counts = { ...NO_DISCOVERY };
  const { max_depth } = job.policy.discovery;
  const isClosed =
    job.status === 'cancelled' || job.removing !== undefined || job.plan !== undefined || job.extracts !== undefined;
  for (const { items: found, invalid = 0, beyond = 0 } of finds) {
    counts.invalid += invalid;
    counts.overLimit += beyond + (isClosed ? found.length : 0);
    if (isClosed) continue;
    for (const item of found) {
      if ((item.depth ?? 0) > max_depth) counts.tooDeep += 1;
      else items.push(item);
    }
  }
  return { items, counts };
}

/** The items to append to the job, and what became of all finds. `known` are the items that the job already has. */
export function admitFinds(
  job: FindingJob,
  { items, counts }: Wanted,
  known: readonly RepeatedItem[],
): { readonly items: readonly NewItem[]; readonly counts: Discovery } {
  const conflicts = known.filter(({ differs }) => differs).length;
  const isKnown = new Set(known.map(({ index }) => index));
  const fresh = isKnown.size === 0 ? items : items.filter((_, index) => !isKnown.has(index));
  const room = Math.max(0, job.policy.discovery.max_items - (job.discovery?.added ?? 0));
  const added = fresh.slice(0, room);
  return {
    items: added,
    counts: {
      ...counts,
      added: added.length,
      duplicates: known.length - conflicts,
      conflicts,
      overLimit: counts.overLimit + fresh.length - added.length,
    },
  };
}

/**
 * Called in the step that settles the item that found them, so that a job never looks exhausted between the end of an
 * item and the items it found.
 */
export function whenFound<Job extends Progress>(job: Job, counts: Discovery): Job {
  const before = job.discovery ?? NO_DISCOVERY;
  const discovery = { ...before };
  for (const name of DISCOVERY_COUNTS) discovery[name] += counts[name];
  return { ...job, counts: { ...job.counts, total: job.counts.total + counts.added }, discovery };
}
