import type { JobRecord } from '../../../src/domain/job.ts';
import type { Usage } from '../../../src/domain/usage.ts';
import { type ModelItem, type ModelJob, type ModelUsage, NOTHING_USED } from './model.ts';

export function addUsed(used: ModelUsage, usage: Usage | undefined): ModelUsage {
  return (usage ?? []).reduce(
    (sum, { requests, bytesUp, bytesDown }) => ({
      requests: sum.requests + requests,
      bytes: sum.bytes + bytesUp + bytesDown,
    }),
    used,
  );
}

export function usedBy({ usage }: JobRecord): ModelUsage {
  return addUsed(NOTHING_USED, usage);
}

export function wrongUsage(job: ModelJob, record: JobRecord): string | null {
  const used = usedBy(record);
  if (job.isFoggy) {
    // A call without an answer may have added something; what was promised is still there.
    if (used.requests >= job.used.requests && used.bytes >= job.used.bytes) return null;
  } else if (used.requests === job.used.requests && used.bytes === job.used.bytes) return null;
  return `has used ${JSON.stringify(used)} by the record, and ${JSON.stringify(job.used)} was settled`;
}

export function isUsedUp({ policy, used }: ModelJob): boolean {
  const { max_requests: requests, max_bytes: bytes } = policy.budget;
  return (requests !== null && used.requests >= requests) || (bytes !== null && used.bytes >= bytes);
}

/** What the item's last attempt says, and what was settled. */
export function wrongItemUsage({ settlement }: ModelItem, kept: readonly number[] | undefined): string | null {
  const wanted = addUsed(NOTHING_USED, settlement?.usage);
  const [requests = 0, up = 0, down = 0] = kept ?? [];
  if (requests === wanted.requests && up + down === wanted.bytes) return null;
  return `its attempt has used ${requests} requests and ${up + down} bytes, and ${JSON.stringify(wanted)} was settled`;
}
