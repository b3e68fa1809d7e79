import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import { EMPTY_TALLY, type Tally } from '../../src/domain/breaker.ts';
import { FAILURE_TYPES, type FailureType, failure } from '../../src/domain/failure.ts';
import type { ItemRecord } from '../../src/domain/item.ts';
import { type JobEvent, type JobReason, type JobRecord, newJobRecord } from '../../src/domain/job.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { type Policy, policySchema } from '../../src/domain/policy.ts';

/** Values for the tests of the pure core: builders that default the rest, and generators for fast-check. */

/** A moment that is not a round number, so that a forgotten time shows. */
export const NOW = 1_750_000_000_123;

type Sections = {
  [Section in keyof Policy]?: Policy[Section] extends object ? Partial<Policy[Section]> : Policy[Section];
};

export function policyOf(sections: Sections = {}): Policy {
  return policySchema.parse(sections);
}

export function jobOf(sections: Sections = {}, changes: Partial<JobRecord> & { total?: number } = {}): JobRecord {
  const { total = 100, ...rest } = changes;
  const job = newJobRecord(
    {
      jobId: 'job-1',
      name: null,
      scraperId: 'demo',
      scraperVersion: '1.0.0',
      lane: 'http',
      policy: policyOf(sections),
      labels: {},
      held: false,
    },
    total,
    NOW,
    'incarnation-1',
  );
  return { ...job, ...rest };
}

export function itemOf(changes: Partial<ItemRecord> = {}): ItemRecord {
  return {
    jobId: 'job-1',
    seq: 1,
    itemId: 'item-1',
    input: { apn: '101-01-001' },
    status: 'success',
    strikes: 0,
    deliveries: 1,
    attempts: [],
    artifacts: [],
    ...changes,
  };
}

export const SCRAPED: Outcome = { kind: 'scraped', artifacts: [] };
export const SKIPPED: Outcome = { kind: 'skipped', reason: 'cached' };

export function failedWith(type: FailureType, message = `it was ${type}`): Outcome {
  return { kind: 'failed', failure: failure(type, message) };
}

export const BY_USER: JobReason = { code: 'user', message: 'paused by the user', evidence: [] };
export const BY_STORAGE: JobReason = { code: 'storage', message: 'no room', evidence: [] };
export const BY_BREAKER: JobReason = { code: 'breaker', message: '5 of 5 failed', evidence: [] };
/** More failures in a row than any default allows, and the event that follows from them. */
export const FALLEN: Tally = { ...EMPTY_TALLY, finished: 60, failed: 60, streak: 60 };
export const TRIP: JobEvent = { kind: 'trip', evidence: [] };
export const MANIFEST = { parts: { full: 1, success: 1, errors: 1 }, metadataSha256: 'abc', writtenAt: NOW };

export function storedArtifact(key: string): StoredArtifact {
  return { kind: 'html', key, size: 12, sha256: sha256(key), encoding: 'identity', contentType: 'text/html' };
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export const anyFailureType: fc.Arbitrary<FailureType> = fc.constantFrom(...FAILURE_TYPES);

export const anyOutcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(SCRAPED) },
  { weight: 1, arbitrary: fc.constant(SKIPPED) },
  { weight: 5, arbitrary: anyFailureType.map((type) => failedWith(type)) },
);

/** Any characters at all but halves of one. (The library's own generator of these takes a second to get ready.) */
export function anyText(maxLength: number): fc.Arbitrary<string> {
  const character = fc
    .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
    .map((code) => String.fromCodePoint(code));
  return fc.string({ unit: character, maxLength, size: 'max' });
}
