import type { Batching } from '../../../src/domain/batching.ts';
import type { Tally } from '../../../src/domain/breaker.ts';
import type { FinalStatus, ItemRecord, NewItem, RecoveredItem } from '../../../src/domain/item.ts';
import type { JobRecord } from '../../../src/domain/job.ts';
import type { JobStatus } from '../../../src/domain/job-steps.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import type { Settlement } from '../../../src/ports/ledger.ts';
import type { LinkedItems } from '../linked-items.ts';

/**
 * What the oracle believes the ledger must hold, built from nothing but the calls that had an effect and their answers.
 * It knows the items of a batch only once the batch is claimed: that is when the ledger first names them.
 */
export interface Model {
  readonly jobs: Map<string, ModelJob>;
  /** Leases in force, by token. */
  readonly leases: Map<string, { readonly job: ModelJob; readonly batch: ModelBatch; readonly lease: ModelLease }>;
  /** Every token that was ever given out. */
  readonly tokens: Set<string>;
  /** Keys of artifacts that were lost with a machine: what recorded them may be undone. */
  readonly torn: Set<string>;
  /** Jobs whose failed items a user has asked to reopen: after a crash they may be open. */
  readonly askedToReopen: Set<string>;
  /** Ids of jobs that are gone. */
  readonly usedIds: Set<string>;
  /** Inputs that were ever sent for an item, by the ids of job and item. */
  readonly offered: Map<string, Set<string>>;
  /** What items lead to. */
  readonly links: LinkedItems;
  /** The ledger has been down: calls without an answer may have had an effect. */
  hasCrashed: boolean;
}

export function newModel(links: LinkedItems): Model {
  return {
    jobs: new Map(),
    leases: new Map(),
    tokens: new Set(),
    torn: new Set(),
    askedToReopen: new Set(),
    usedIds: new Set(),
    offered: new Map(),
    links,
    hasCrashed: false,
  };
}

export interface ModelJob {
  readonly jobId: string;
  readonly incarnation: string;
  /** Its id was that of another job before, whose workers may not know yet that it has ended. */
  readonly isSecondLife: boolean;
  readonly batching: Batching | null;
  readonly isExtraction: boolean;
  removing: JobRecord['removing'];
  policy: Policy;
  status: JobStatus;
  held: boolean;
  circuit: 'closed' | 'open' | 'probing';
  tally: Tally;
  used: ModelUsage;
  finds: ModelFinds;
  round: number;
  fenced: number;
  openUntil: number;
  hasManifest: boolean;
  replacedBy: string | null;
  replacedRound: number;
  /** What was requested to be recovered, by the place of the item; the last request counts. */
  readonly recoveries: Map<number, RecoveredItem>;
  /** Items that were recovered, and have not been seen yet. */
  mayRecover: number;
  /** Paused by the user, so that only the user may resume it. */
  pausedByUser: boolean;
  /** A host keeps it waiting, for so long: nothing goes out before, or nothing that came back since `from`. */
  waiting: { readonly until: number; readonly ms: number; readonly from: number } | null;
  readonly completedRounds: Set<number>;
  readonly items: ModelItem[];
  readonly ids: Set<string>;
  readonly batches: Map<string, ModelBatch>;
  /** Items that the last retries reopened, and that have not been seen yet. */
  mayReopen: number;
  /** Keys of the groups of failures that they are of; null if any failed item may be one of them. */
  reopenedGroups: readonly string[] | null;
  /** How many items may be finished or at risk, as of the batches that went out since the last look. */
  riskAllowed: number | null;
  /** … and how many were, at that look. */
  risked: number;
  /**
   * After a crash it is unknown which of the unanswered calls had an effect. What was promised is still checked; the
   * rest is believed until nothing is in flight any more.
   */
  isFoggy: boolean;
  /** Every item is final, and its index is being written. */
  isFinishing: boolean;
}

/** What a job has used, as far as it was reported. */
export interface ModelUsage {
  readonly requests: number;
  readonly bytes: number;
}

/** What became of what its attempts found. */
export interface ModelFinds {
  readonly added: number;
  /** What the job had already, or had no more room for: which of the two depends on the order. */
  readonly known: number;
  readonly tooDeep: number;
  readonly invalid: number;
}

export const NOTHING_FOUND: ModelFinds = { added: 0, known: 0, tooDeep: 0, invalid: 0 };

export const NOTHING_USED: ModelUsage = { requests: 0, bytes: 0 };

export interface ModelItem {
  readonly jobId: string;
  readonly seq: number;
  readonly itemId: string;
  group: string | null;
  readonly depth: number | null;
  /** As JSON: what was sent with it, or taken last while it was failed. */
  input: string;
  final: FinalStatus | null;
  /** What was recorded last; null for what the ledger decided by itself (poison, cancelled). */
  settlement: Settlement | null;
  /** Set for a failed item that became a success because its page could be read. */
  recovered: RecoveredItem | null;
  strikes: number;
  deliveries: number;
  /** Set when it came back because of a host, in a job with batches by group. */
  hold: { readonly at: number; readonly until: number } | null;
  /** Attempts whose end was recorded by a worker. */
  readonly recorded: Set<number>;
  /** How many leases each worker got for it. */
  readonly takers: Map<string, number>;
  /** Times that a scraper began with it. */
  starts: number;
  /** Times that it killed its worker, since it was last reopened. */
  kills: number;
  readonly causes: StrikeCause[];
  /** What was seen when it became final, to see that it stays. */
  seen: (Pick<ItemRecord, 'attempts' | 'artifacts'> & { readonly print: string }) | null;
}

export type StrikeCause = 'own kill' | 'kill by a neighbour' | 'crash' | 'silence';

export interface ModelBatch {
  readonly jobId: string;
  readonly batchId: string;
  queuedAt: number;
  /** From when on holds of items were in force when it went out; null if none was. */
  heldFrom: number | null;
  /** Unsettled, in order; null until it is claimed. */
  items: ModelItem[] | null;
  lease: ModelLease | null;
}

export interface ModelLease {
  readonly token: string;
  readonly worker: string;
  /** In the world's time: its life is counted from then, however long the claim was on its way. */
  readonly askedAt: number;
  readonly suspect: boolean;
  readonly alone: boolean;
  until: number;
  begun: number | null;
}

export function newModelJob(job: JobRecord, model: Model): ModelJob {
  return {
    jobId: job.jobId,
    incarnation: job.incarnation,
    isSecondLife: model.usedIds.has(job.jobId),
    batching: job.batching ?? null,
    isExtraction: job.extracts !== undefined,
    removing: undefined,
    policy: job.policy,
    status: 'pending',
    held: job.held,
    circuit: 'closed',
    tally: NO_TALLY,
    used: NOTHING_USED,
    finds: NOTHING_FOUND,
    round: 1,
    fenced: 0,
    openUntil: 0,
    hasManifest: false,
    replacedBy: null,
    replacedRound: 1,
    recoveries: new Map(),
    mayRecover: 0,
    pausedByUser: false,
    waiting: null,
    completedRounds: new Set(),
    items: [],
    ids: new Set(),
    batches: new Map(),
    mayReopen: 0,
    reopenedGroups: null,
    riskAllowed: null,
    risked: 0,
    isFoggy: false,
    isFinishing: false,
  };
}

export const NO_TALLY: Tally = { finished: 0, failed: 0, streak: 0, missed: 0, dry: 0, stopper: null };

export function addModelItem(job: ModelJob, { itemId, input, group, depth }: NewItem): void {
  job.ids.add(itemId);
  job.items.push({
    jobId: job.jobId,
    seq: job.items.length,
    itemId,
    group: group ?? null,
    depth: depth ?? null,
    input: JSON.stringify(input),
    final: null,
    settlement: null,
    recovered: null,
    strikes: 0,
    deliveries: 0,
    hold: null,
    recorded: new Set(),
    takers: new Map(),
    starts: 0,
    kills: 0,
    causes: [],
    seen: null,
  });
}

export function dropBatch(model: Model, job: ModelJob, batch: ModelBatch): void {
  job.batches.delete(batch.batchId);
  if (batch.lease !== null) model.leases.delete(batch.lease.token);
}

/** The items of a batch that is taken back: open again, or cancelled with their job. */
export function giveBack(model: Model, job: ModelJob, batch: ModelBatch): void {
  if (job.status === 'cancelled' && !job.isFoggy) for (const item of batch.items ?? []) item.final = 'cancelled';
  dropBatch(model, job, batch);
}

export function reopenModelItem(item: ModelItem): void {
  item.final = null;
  item.settlement = null;
  item.recovered = null;
  item.strikes = 0;
  item.kills = 0;
  item.causes.length = 0;
  item.seen = null;
}
