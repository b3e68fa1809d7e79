import type { JobAnswer } from '../../contract/job-answers.ts';
import { DISCOVERY_COUNTS } from '../../domain/discovery-counts.ts';
import type { JobRecord } from '../../domain/job.ts';

/** Null for a job in which nothing was found. */
export function presentDiscovery({ discovery }: Pick<JobRecord, 'discovery'>): JobAnswer['discovery'] {
  if (discovery === undefined) return null;
  const { added, duplicates, conflicts, tooDeep, overLimit, invalid } = discovery;
  const found = DISCOVERY_COUNTS.reduce((sum, name) => sum + discovery[name], 0);
  return { found, added, duplicates, conflicts, too_deep: tooDeep, over_limit: overLimit, invalid };
}
