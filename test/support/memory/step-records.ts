import { type JobSteps, mergeSteps, NO_STEPS } from '../../../src/domain/recording/step-statistics.ts';
import type { Ledger } from '../../../src/ports/ledger.ts';
import type { StepRecords } from '../../../src/ports/step-records.ts';

export function openMemoryStepRecords(ledger: Pick<Ledger, 'job'>): StepRecords {
  const jobs = new Map<string, JobSteps>();
  return {
    async report(reports) {
      for (const { jobId, steps } of reports) {
        const job = await ledger.job(jobId);
        if (job !== null) jobs.set(job.incarnation, mergeSteps(jobs.get(job.incarnation) ?? NO_STEPS, steps));
      }
    },
    async ofJob({ jobId, incarnation }) {
      if ((await ledger.job(jobId))?.incarnation !== incarnation) return NO_STEPS;
      return jobs.get(incarnation) ?? NO_STEPS;
    },
  };
}
