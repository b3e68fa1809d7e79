import type { FieldError } from '../../contract/problem.ts';
import type { JobRecord } from '../../domain/job.ts';
import { mergePolicy, type PartialPolicy } from '../../domain/policy.ts';
import type { Prices } from '../../domain/prices.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JobBook } from '../../ports/ledger.ts';
import type { ScraperCatalog } from '../intake/scraper-catalog.ts';
import { controlProblems } from './control-problems.ts';
import { policyProblems } from './submit.ts';

type PolicyAnswer =
  | { readonly kind: 'changed'; readonly job: JobRecord }
  | { readonly kind: 'missing' }
  | { readonly kind: 'bad'; readonly problems: readonly FieldError[] }
  | { readonly kind: 'refused'; readonly because: string };

interface ChangePolicyDeps {
  readonly ledger: Pick<JobBook, 'job' | 'changeJob'>;
  readonly catalog: Pick<ScraperCatalog, 'ofJob'>;
  readonly clock: Clock;
  readonly prices: Prices;
}

/** Merges the given fields into the job's policy, section by section. */
export async function changePolicy(
  { ledger, clock, catalog, prices }: ChangePolicyDeps,
  jobId: string,
  change: PartialPolicy,
): Promise<PolicyAnswer> {
  for (;;) {
    const job = await ledger.job(jobId);
    if (job === null) return { kind: 'missing' };
    const policy = mergePolicy(job.policy, change);
    const isPriced = change.budget !== undefined || change.proxy !== undefined;
    const problems = isPriced ? policyProblems({ prices }, { execution_policy: policy }) : [];
    if (problems.length > 0) return { kind: 'bad', problems };
    const scraper = change.controls?.items === undefined ? null : await catalog.ofJob(job);
    const unusable = scraper === null ? [] : controlProblems(scraper, policy);
    if (unusable.length > 0) return { kind: 'bad', problems: unusable };
    const answer = await ledger.changeJob(
      jobId,
      {
        ...{ kind: 'policy', policy, ifRevision: job.policyRevision },
        ...(change.budget === undefined ? {} : { prices }),
      },
      clock.now(),
    );
    if (answer === 'missing') return { kind: 'missing' };
    if (!('refused' in answer)) return { kind: 'changed', job: answer };
    if (answer.code !== 'other_revision') return { kind: 'refused', because: answer.refused };
    // Another request changed the policy in between; its change must not be undone by what we read before.
  }
}
