import type { Digest } from '../../domain/artifact.ts';
import type { ReadGroup } from '../../domain/failure-group.ts';
import { forecastJob, type JobForecast, type SampledItem } from '../../domain/forecast.ts';
import { type ItemRecord, isFinal } from '../../domain/item.ts';
import { isRefusal, type JobRecord } from '../../domain/job.ts';
import { MAX_SAMPLE } from '../../domain/job-plan.ts';
import { paceLimits } from '../../domain/pace-limits.ts';
import { presentAttemptUsage } from '../../domain/present-usage.ts';
import { costOf, NO_PRICES } from '../../domain/prices.ts';
import { seededChance } from '../../domain/seeded-chance.ts';
import { totalUsage } from '../../domain/usage.ts';
import type { Clock } from '../../ports/clock.ts';
import type { HostSettingsBook } from '../../ports/host-settings.ts';
import type { ItemBook, JobBook } from '../../ports/ledger.ts';
import type { PlanRequest } from './read-plan-request.ts';
import { createWithRecording } from './recordings/keep-for-job.ts';
import { newJobOf, type SubmitDeps } from './submit.ts';

export interface PlanDeps extends Pick<SubmitDeps, 'prices' | 'recordings' | 'faults'> {
  readonly ledger: Pick<JobBook, 'createJob' | 'job'> & Pick<ItemBook, 'items' | 'failureGroups'>;
  readonly hostSettings: Pick<HostSettingsBook, 'list'>;
  readonly clock: Clock;
  readonly digest: Digest;
}

/** Labels of the job that runs a sample, so that a user who lists jobs sees what it is. */
const PLAN_LABEL = { plan: 'sample' } as const;
const MAX_LABELS = 50;

/**
 * Starts the sample as its own job. Everything that a plan knows is in that job: any process can answer for it, and
 * nothing is lost when one dies. Null if there is nothing to run.
 */
export async function beginPlan(
  deps: PlanDeps,
  { wanted, scraper, origin, check }: PlanRequest,
  isKept: boolean,
): Promise<JobRecord | null> {
  const { ledger, clock, prices } = deps;
  const sample = check.sample();
  if (sample.length === 0) return null;
  const { items, received, bad, duplicates, conflicts } = check.report();
  const labels = Object.fromEntries(Object.entries(wanted.labels).slice(0, MAX_LABELS - 1));
  const { submission: _, ...job } = newJobOf({ prices }, { ...wanted, hold: false }, `plan-${clock.id()}`, scraper, '');
  const planned = {
    ...job,
    name: `Sample of ${sample.length} from ${items} items`,
    labels: { ...labels, ...PLAN_LABEL },
    plan: { items, received, bad, duplicates, conflicts, isKept },
  };
  const answer = await createWithRecording(deps, planned, { scraper, origin }, (made) =>
    ledger.createJob(made, sample, clock.now()),
  );
  if (answer.kind !== 'created') throw new Error(`the sample of a plan could not be created: ${answer.kind}`);
  return answer.job;
}

export interface PlanState {
  readonly job: JobRecord;
  readonly list: NonNullable<JobRecord['plan']>;
  /** Whether the result is final: every item of the sample ended, or something stopped it. */
  readonly isReady: boolean;
  /** From the items that have ended so far; null until one has. */
  readonly forecast: JobForecast | null;
  readonly failures: readonly ReadGroup[];
}

/**
 * Ends the sample and deletes it with its results. One that has ended is marked at once; for any other, the leader does
 * the rest when no worker is processing it any more, unless it was to be kept.
 */
export async function endPlan(
  { ledger, clock }: EndPlanDeps,
  jobId: string,
): Promise<'ended' | 'missing' | { readonly refused: string }> {
  const job = await ledger.job(jobId);
  if (job?.plan === undefined || job.removing) return 'missing';
  const { incarnation, plan } = job;
  await ledger.changeJob(jobId, { kind: 'cancel' }, clock.now());
  const marked = await ledger.changeJob(jobId, { kind: 'remove', incarnation }, clock.now());
  if (marked === 'missing') return 'missing';
  return isRefusal(marked) && plan.isKept ? marked : 'ended';
}

interface EndPlanDeps {
  readonly ledger: Pick<JobBook, 'job' | 'changeJob'>;
  readonly clock: Clock;
}

/** Null if there is no such plan, or not any more. */
export async function readPlan({ ledger, hostSettings }: PlanDeps, jobId: string): Promise<PlanState | null> {
  const job = await ledger.job(jobId);
  if (job?.plan === undefined || job.removing) return null;
  const sample = await sampledItems(ledger, jobId);
  return {
    job,
    list: job.plan,
    isReady: isReady(job),
    forecast: forecastJob(
      sample,
      job.plan.items,
      paceLimits(job.policy.throttling, job.usage, await hostSettings.list()),
      {
        costPerByte: costPerByte(job),
        chance: seededChance(1),
      },
    ),
    failures: await ledger.failureGroups(jobId, FAILURES_SHOWN),
  };
}

const FAILURES_SHOWN = 10;

/** A breaker that will probe, and a pause for storage, end by themselves. */
function isReady({ status, reason, circuit }: JobRecord): boolean {
  if (status === 'paused') {
    if (reason?.code === 'breaker') return circuit.state === 'open' && circuit.probeAt === null;
    return reason?.code === 'host' || reason?.code === 'budget' || reason?.code === 'control';
  }
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

async function sampledItems(ledger: PlanDeps['ledger'], jobId: string): Promise<readonly SampledItem[]> {
  const found: ItemRecord[] = [];
  let after: string | null = null;
  do {
    const page = await ledger.items(jobId, { status: null, errorType: null }, { after, limit: MAX_SAMPLE });
    found.push(...page.entries);
    after = page.next;
    // A sample has at most this many items, but a scraper may have added what it found.
  } while (after !== null && found.length < MAX_SAMPLE);
  return found.filter(({ status }) => isFinal(status)).flatMap(toSampled);
}

/** None for an item that was never tried. */
function toSampled({ status, attempts }: ItemRecord): SampledItem[] {
  const last = attempts.at(-1);
  if (last === undefined) return [];
  const { requests, bytes_up, bytes_down } = presentAttemptUsage(attempts);
  const usage = { requests, bytes: bytes_up + bytes_down };
  return [{ startedAt: last.startedAt, durationMs: last.durationMs, isFailed: status === 'failed', usage }];
}

/** Null if a price is unknown. */
function costPerByte({ usage, prices = NO_PRICES }: JobRecord): number | null {
  const cost = costOf(usage, prices);
  const { bytesUp, bytesDown } = totalUsage(usage);
  return cost === null ? null : cost / Math.max(1, bytesUp + bytesDown);
}
