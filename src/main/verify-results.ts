import { systemClock } from '../adapters/system/clock.ts';
import type { Config } from '../config.ts';
import type { VerifyReport } from '../contract/verify-report.ts';
import { verifyJob } from '../controller/results/verify.ts';
import { digest } from './digest.ts';
import { loadResults } from './results-backends.ts';

/** Checks a job by its results alone, in a data directory or a bucket that another process may own. */
export async function verifyResults(config: Config, jobId: string): Promise<VerifyReport> {
  const found = await (await loadResults(config)).openExisting(config, systemClock());
  if (found.kind === 'none') return { kind: 'nothing', message: found.message };
  return await verifyJob({ store: found.store, digest }, jobId).finally(() => found.close());
}
