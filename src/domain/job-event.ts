import type { ReadGroup } from './failure-group.ts';
import type { ControlEvent } from './job-controls.ts';
import type { RemovalEvent } from './job-removal.ts';
import type { ReplacementEvent } from './job-replacement.ts';
import type { ManifestSummary } from './manifest.ts';
import type { Policy } from './policy.ts';
import type { Prices } from './prices.ts';

/** Why a job is paused or failed: a message for its user, and the evidence. */
export interface JobReason {
  readonly code: 'user' | 'breaker' | 'storage' | 'host' | 'control' | 'budget';
  readonly message: string;
  readonly evidence: readonly ReadGroup[];
}

/** What a user or the engine wants to do with a job. The ledger applies it in one guarded write. */
export type JobEvent =
  | { readonly kind: 'start' }
  | { readonly kind: 'pause'; readonly reason: JobReason }
  /**
   * With `ifPausedFor`, only if the job is paused for that reason: a user may have paused it for another reason
   * meanwhile.
   */
  | { readonly kind: 'resume'; readonly ifPausedFor?: JobReason['code'] }
  /**
   * Events of the breaker. They carry no verdict: it is reached again from the record at that moment, because the one
   * that led to the event may date from before a resume, and would trip the job a second time for the same failures.
   */
  | { readonly kind: 'trip'; readonly evidence: readonly ReadGroup[] }
  | { readonly kind: 'probe' }
  | { readonly kind: 'close-circuit' }
  | { readonly kind: 'cancel' }
  /** The budget is used up. It is checked again from the record at that moment, because it may have been raised. */
  | { readonly kind: 'exhaust' }
  /** The pause of this host was lifted: a job that waits for it continues. */
  | { readonly kind: 'stop-waiting'; readonly host: string }
  /** Every item is final: the result index must be written. */
  | { readonly kind: 'finish' }
  /**
   * The index of this round is written, and the job is thereby over. With `policyRevision`, only if it is still the
   * job's: the index also contains the policy. The same applies to `incarnation`.
   */
  | {
      readonly kind: 'complete';
      readonly incarnation?: string;
      readonly round: number;
      readonly policyRevision?: number;
      readonly manifest: ManifestSummary;
    }
  /** With `ifRevision`, only if the policy still has that revision: another field may have been changed meanwhile. */
  | { readonly kind: 'policy'; readonly policy: Policy; readonly ifRevision?: number; readonly prices?: Prices }
  | ControlEvent
  | RemovalEvent
  | ReplacementEvent
  /**
   * The index of a job that was over without one: cancelled, or completed and indexed again. Otherwise like `complete`.
   */
  | {
      readonly kind: 'manifest';
      readonly incarnation?: string;
      readonly round: number;
      readonly policyRevision?: number;
      readonly manifest: ManifestSummary;
    };
