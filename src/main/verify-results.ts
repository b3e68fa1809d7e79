import { systemClock } from '../adapters/system/clock.ts';
import type { Config } from '../config.ts';
import type { VerifyReport } from '../contract/verify-report.ts';
import { verifyJob } from '../controller/results/verify.ts';
import { digest } from './digest.ts';
import { loadResults } from './results-backends.ts';

/** Checks a job by its results alone, in a data directory or a bucket that another process may own. */
export async function verifyResults(config: Config, jobId: string): Promise<VerifyReport> {
  const results = await (await loadResults(config)).openExisting(config, systemClock());
  if (results.kind === 'none') return { kind: 'nothing', message: results.message };
  return await verifyJob({ store: results.store, digest }, jobId).finally(() => results.close());
}
