import { type JobRecord, OTHER_REVISION } from '../../domain/job.ts';
import { notYetAvailable, type Policy, policySchema } from '../../domain/policy.ts';
import { type FieldProblem, schemaProblems } from '../../domain/schema-problems.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JobBook } from '../../ports/ledger.ts';

export type PolicyAnswer =
  | { readonly kind: 'changed'; readonly job: JobRecord }
  | { readonly kind: 'missing' }
  | { readonly kind: 'bad'; readonly problems: readonly FieldProblem[] }
  | { readonly kind: 'refused'; readonly because: string };

/** Lays the given fields over the job's policy, section by section. Unknown ones are refused by name. */
export async function changePolicy(
  { ledger, clock }: { readonly ledger: Pick<JobBook, 'job' | 'changeJob'>; readonly clock: Clock },
  jobId: string,
  change: Readonly<Record<string, unknown>>,
): Promise<PolicyAnswer> {
  for (;;) {
    const job = await ledger.job(jobId);
    if (job === null) return { kind: 'missing' };
    const parsed = policySchema.safeParse(laidOver(job.policy, change));
    const problems = parsed.success ? notYetAvailable(parsed.data) : schemaProblems(parsed.error);
    if (!parsed.success || problems.length > 0) {
      return { kind: 'bad', problems: problems.map((each) => ({ ...each, path: `execution_policy.${each.path}` })) };
    }
    const event = { kind: 'policy', policy: parsed.data, ifRevision: job.policyRevision } as const;
    const answer = await ledger.changeJob(jobId, event, clock.now());
    if (answer === 'missing') return { kind: 'missing' };
    if (!('refused' in answer)) return { kind: 'changed', job: answer };
    if (answer.refused !== OTHER_REVISION.refused) return { kind: 'refused', because: answer.refused };
    // Somebody else changed another field: theirs must not be undone by what we read before.
  }
}

function laidOver(policy: Policy, change: Readonly<Record<string, unknown>>): object {
  const sections = new Map(Object.entries<unknown>(policy));
  return Object.fromEntries([
    ...sections,
    ...Object.entries(change).map(([name, value]): [string, unknown] => {
      const current = sections.get(name);
      return [name, isRecord(current) && isRecord(value) ? { ...current, ...value } : value];
    }),
  ]);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
