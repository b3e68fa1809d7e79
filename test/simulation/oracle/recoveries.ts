import type { StoredArtifact } from '../../../src/domain/artifact.ts';
import type { ItemRecord, RecoveredItem } from '../../../src/domain/item.ts';
import type { Model, ModelItem, ModelJob } from './model.ts';
import type { SeenCall } from './seen-call.ts';

type RecoverCall = Extract<SeenCall, { method: 'recover' }>;

/** A call is about to report these as readable. It may never be known whether it took effect. */
export function askedToRecover(model: Model, jobId: string, items: readonly RecoveredItem[]): void {
  for (const item of items) model.jobs.get(jobId)?.recoveries.set(item.seq, item);
}

export function sawRecovery(model: Model, { jobId, by, answer }: RecoverCall, fail: (message: string) => void): void {
  const job = model.jobs.get(jobId);
  if (job === undefined || job.isFoggy || !('kind' in answer) || answer.kind !== 'recovered') return;
  if (job.replacedBy !== by) fail(`${jobId}: items were recovered from ${by}, and ${job.replacedBy} is in place`);
  job.mayRecover += answer.items;
}

/** A failed item that is seen as a success must have been recovered from the page of that very failure. */
export function wrongRecovery(job: ModelJob, item: ModelItem, actual: ItemRecord): string | null {
  const asked = job.recoveries.get(item.seq);
  if (asked === undefined || job.mayRecover === 0) return 'was failed and is a success, and nobody recovered it';
  job.mayRecover -= 1;
  const outcome = item.settlement?.outcome;
  const kept = outcome?.kind === 'failed' ? (outcome.artifacts ?? []) : (item.seen?.artifacts ?? []);
  if (htmlOf(kept)?.key !== htmlOf(actual.artifacts)?.key) return 'was recovered from another page than it failed on';
  const last = actual.attempts.at(-1);
  if (last?.attempt !== item.deliveries + 1) return `was recovered by attempt ${last?.attempt}`;
  if (JSON.stringify(actual.artifacts) !== JSON.stringify(asked.artifacts)) return 'was recovered with other artifacts';
  item.final = 'success';
  item.settlement = null;
  item.deliveries += 1;
  item.recovered = asked;
  item.seen = null;
  return null;
}

export function htmlOf(artifacts: readonly StoredArtifact[]): StoredArtifact | undefined {
  return artifacts.find(({ kind }) => kind === 'html');
}
