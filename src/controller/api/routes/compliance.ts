import {
  type ComplianceAnswer,
  complianceSchema,
  type HostComplianceAnswer,
} from '../../../contract/compliance-answer.ts';
import { jobPath } from '../../../contract/requests.ts';
import { JOB_UNSEEN, worstOf } from '../../../domain/compliance.ts';
import { type HostSettings, NO_LIMITS } from '../../../domain/host-settings.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { conductLimits, excessesOf, type HostConduct, jobConduct, refusalsAt } from '../../../domain/job-compliance.ts';
import { type ApiDeps, jobOf } from '../api-deps.ts';
import { jsonAnswer, type Operation, operation } from '../operation.ts';

/** What a job did at each host. */
export function complianceOperation(deps: Pick<ApiDeps, 'ledger' | 'hostRecords' | 'hostSettings'>): Operation {
  return operation({
    id: 'getCompliance',
    method: 'GET',
    path: '/jobs/{job_id}/compliance',
    tag: 'jobs',
    summary: 'Get what a job did at each host, compared with its limits',
    description:
      'For running and finished jobs. Processes report what they did every second, on AWS every ten seconds. The limits are ' +
      'those of the policy and of the host as they are now, so after a change the comparison may be with a newer limit. ' +
      'Requests for robots.txt and those of a scraper’s `setup` are not counted.',
    access: 'read',
    params: jobPath,
    answers: { 200: jsonAnswer('What the job did at each host.', complianceSchema) },
    problems: ['job_not_found'],
    async handle({ params: { job_id: jobId } }) {
      const job = await jobOf(deps, jobId);
      const [records, settings] = await Promise.all([deps.hostRecords.ofJob(job), deps.hostSettings.list()]);
      const conducts = records.map(({ host, seen }): HostConduct => {
        const known = seen.jobs.get(jobId) ?? JOB_UNSEEN;
        return { host, requests: known.requests, worst: worstOf(known, seen.pauses) };
      });
      const { hosts, omitted } = jobConduct(conducts);
      const answer: ComplianceAnswer = {
        job_id: jobId,
        hosts: hosts.map((conduct) => presentConduct(conduct, job, settings)),
        omitted_hosts: omitted,
      };
      return { status: 200, json: answer };
    },
  });
}

function presentConduct(
  conduct: HostConduct,
  { policy, usage }: JobRecord,
  settings: readonly HostSettings[],
): HostComplianceAnswer {
  const { host, requests, worst } = conduct;
  const limits = conductLimits(policy.throttling, settings.find((each) => each.host === host) ?? NO_LIMITS);
  const refusals = refusalsAt(host, usage);
  return {
    host,
    requests,
    exceeded: [...excessesOf(conduct, limits)],
    concurrency: {
      highest: worst.atLeastConcurrent,
      at_most: worst.atMostConcurrent,
      limit: limits.concurrent,
    },
    requests_per_second: {
      highest: worst.perSecond,
      highest_over_ten_seconds: worst.perTenSeconds / 10,
      limit: limits.perSecond,
    },
    gap_seconds: { smallest: seconds(worst.gapMs), limit: seconds(limits.gapMs) },
    refusals: refusals && { share_429: refusals.share429, share_403: refusals.share403 },
    retry_after: {
      honoured: worst.duringPause === 0,
      requests_during_pause: worst.duringPause,
      soonest_after_seconds: seconds(worst.afterPauseMs),
    },
  };
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
