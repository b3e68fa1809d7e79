import { createHash } from 'node:crypto';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import { type FailureType, failure } from '../../src/domain/failure.ts';
import type { NewItem, SourcePage } from '../../src/domain/item.ts';
import type { NewJob } from '../../src/domain/job.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { type Policy, policySchema } from '../../src/domain/policy.ts';
import type { Lease, LeasedItem, Settlement, SettlePart } from '../../src/ports/ledger.ts';

/** Values for tests of code on top of the ports: each builder defaults the rest. */

/** A moment that is not a round number, so that a forgotten time shows. */
export const NOW = 1_750_000_000_123;

type Sections = {
  [Section in keyof Policy]?: Policy[Section] extends object ? Partial<Policy[Section]> : Policy[Section];
};

/** Room for ten workers and a breaker that never trips, unless a test says otherwise. */
export function policyOf(sections: Sections = {}): Policy {
  return policySchema.parse({
    ...sections,
    throttling: { max_concurrent_workers: 10, adaptive: false, ...sections.throttling },
    circuit_breaker: { min_requests: 1_000_000, consecutive_failures: 1_000_000, ...sections.circuit_breaker },
  });
}

export function newJob(job: Partial<Omit<NewJob, 'policy'>> & { readonly policy?: Sections } = {}): NewJob {
  return {
    jobId: 'job-1',
    name: null,
    scraperId: 'demo',
    scraperVersion: '1.0.0',
    lane: 'http',
    labels: {},
    held: false,
    ...job,
    policy: policyOf(job.policy),
  };
}

/** `p-0`, `p-1` … */
export function newItems(count: number, { prefix = 'p', from = 0 } = {}): NewItem[] {
  return Array.from({ length: count }, (_, index) => {
    const itemId = `${prefix}-${from + index}`;
    return { itemId, input: { apn: itemId } };
  });
}

export const SCRAPED: Outcome = { kind: 'scraped', artifacts: [] };
export const SKIPPED: Outcome = { kind: 'skipped', reason: 'cached' };

export function failedWith(type: FailureType, message = `it was ${type}`, page: string | null = null): Outcome {
  return { kind: 'failed', failure: failure(type, message, { page }) };
}

/** A failure at a step of a recording. */
export function failedAtStep(path: string, type: FailureType, message = `it was ${type}`): Outcome {
  const step = { path, label: 'click "Search"' };
  return { kind: 'failed', failure: failure(type, `step ${path}, ${step.label}: ${message}`, { step }) };
}

/** A failure whose page was kept. */
export function failedOn(...keys: readonly string[]): Outcome {
  return {
    kind: 'failed',
    failure: failure('structure_changed', 'nothing matches'),
    artifacts: keys.map(storedArtifact),
  };
}

export function scrapedWith(...keys: readonly string[]): Outcome {
  return { kind: 'scraped', artifacts: keys.map(storedArtifact) };
}

export function storedArtifact(key: string): StoredArtifact {
  const sha256 = createHash('sha256').update(key).digest('hex');
  return { kind: 'html', key, size: key.length, sha256, encoding: 'identity', contentType: 'text/html' };
}

/** What another job kept under this prefix. */
export function sourcePage(prefix: string): SourcePage {
  const metadata: StoredArtifact = { ...storedArtifact(`${prefix}/metadata.json`), kind: 'metadata' };
  return { html: { ...storedArtifact(`${prefix}/html.html`), encoding: 'gzip' }, metadata };
}

export function settlement(item: LeasedItem, outcome: Outcome = SCRAPED, startedAt = NOW): Settlement {
  return { seq: item.seq, attempt: item.attempt, outcome, tries: 1, startedAt, durationMs: 10 };
}

/** All items of a lease, or some of them, with one outcome. */
export function partOf(
  lease: Lease,
  outcome: Outcome = SCRAPED,
  items: readonly LeasedItem[] = lease.items,
): SettlePart {
  return { token: lease.token, jobId: lease.ref.jobId, items: items.map((item) => settlement(item, outcome)) };
}
