import type { NewItem, RecoveredItem } from '../../../src/domain/item.ts';
import type { JobEvent, JobRecord, NewJob, Refusal } from '../../../src/domain/job.ts';
import type { Usage } from '../../../src/domain/usage.ts';
import type {
  AddAnswer,
  ClaimAnswer,
  CreateAnswer,
  Dispatched,
  DueTimes,
  LatestTimes,
  RecoverAnswer,
  ReopenAnswer,
  RetryFilter,
  SettleAnswer,
  SettlePart,
} from '../../../src/ports/ledger.ts';
import type { ReleaseCause } from '../../../src/ports/return-cause.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';

/** A call that had its effect, with its answer, as it is reported to the oracle, in the order in which it happened. */
export type SeenCall =
  | {
      readonly method: 'createJob';
      readonly job: NewJob;
      readonly items: readonly NewItem[];
      readonly answer: CreateAnswer;
    }
  | {
      readonly method: 'changeJob';
      readonly jobId: string;
      readonly event: JobEvent;
      readonly now: number;
      readonly answer: JobRecord | Refusal | 'missing';
    }
  | { readonly method: 'removeJob'; readonly jobId: string; readonly incarnation: string; readonly answer: boolean }
  | {
      readonly method: 'addItems';
      readonly jobId: string;
      readonly items: readonly NewItem[];
      readonly openUntil: number;
      readonly answer: AddAnswer;
    }
  | {
      readonly method: 'reopen';
      readonly jobId: string;
      readonly filter: RetryFilter;
      readonly openUntil: number;
      readonly answer: ReopenAnswer;
    }
  | {
      readonly method: 'recover';
      readonly jobId: string;
      readonly by: string;
      readonly items: readonly RecoveredItem[];
      readonly answer: RecoverAnswer;
    }
  | { readonly method: 'dispatch'; readonly jobId: string; readonly now: number; readonly answer: Dispatched | null }
  | {
      readonly method: 'claim';
      readonly refs: readonly BatchRef[];
      readonly worker: string;
      readonly until: number;
      /** In the world's time: the lease may be old when it is granted. */
      readonly askedAt: number;
      readonly answer: readonly ClaimAnswer[];
    }
  | { readonly method: 'begin'; readonly token: string; readonly seq: number; readonly answer: boolean }
  | {
      readonly method: 'renew';
      readonly tokens: readonly string[];
      readonly until: number;
      readonly answer: readonly string[];
    }
  | { readonly method: 'settle'; readonly parts: readonly SettlePart[]; readonly answer: readonly SettleAnswer[] }
  | {
      readonly method: 'release';
      readonly token: string;
      readonly usage: Usage | undefined;
      readonly because: ReleaseCause;
      readonly now: number;
      readonly answer: boolean;
    }
  | { readonly method: 'recall'; readonly refs: readonly BatchRef[]; readonly answer: number }
  | {
      readonly method: 'expire';
      /** As read when it took effect; null if nothing could be judged by then. */
      readonly times: DueTimes | null;
      readonly limit: number;
      readonly answer: { readonly leases: number; readonly queued: number };
    }
  | {
      readonly method: 'clampTimes';
      readonly latest: LatestTimes | null;
      readonly answer: number;
    }
  | { readonly method: 'abandon'; readonly worker: string; readonly now: number; readonly answer: number };
