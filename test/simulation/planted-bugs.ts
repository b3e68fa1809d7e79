import { type MemoryLedger, type MemoryParts, openMemoryLedger } from '../support/memory/ledger.ts';
import type { Plant } from './plant.ts';
import * as batching from './planted-batching-bugs.ts';
import * as clocks from './planted-clock-bugs.ts';
import { CONTROL_BUGS } from './planted-control-bugs.ts';
import { CORRECTION_BUGS } from './planted-correction-bugs.ts';
import { DISCOVERY_BUGS } from './planted-discovery-bugs.ts';
import { HalfDraftJobs } from './planted-draft-bugs.ts';
import * as errors from './planted-error-bugs.ts';
import * as ledgers from './planted-ledger-bugs.ts';
import * as ports from './planted-port-bugs.ts';
import { RECOVERY_BUGS } from './planted-recovery-bugs.ts';
import * as removals from './planted-removal-bugs.ts';
import { SHARE_BUGS } from './planted-share-bugs.ts';
import { STEP_BUGS } from './planted-step-bugs.ts';
import { USAGE_BUGS } from './planted-usage-bugs.ts';

/** Every bug that the simulation must find within a thousand seeds. */
export const PLANTED_BUGS: readonly Plant[] = [
  ledger('no fence on settle', { returns: ledgers.UnfencedReturns }),
  ledger('a late write replaces what was recorded', { returns: ledgers.OverwritingReturns }),
  ledger('fence tokens are used again', { leases: ledgers.SameTokenLeases }),
  { name: 'the message is acknowledged before the batch is settled', worker: ports.acksWhenItClaims },
  { name: 'a batch is over before its last settle', worker: ports.settlesTooLate },
  ledger('counters outside the transaction', { returns: ledgers.CountersApartReturns }),
  { name: 'a partial failure of send is ignored', controller: ports.ignoresRefusedMessages },
  ledger('the reaper serves one job only', { returns: ledgers.OneJobReaperReturns }),
  ledger('the reaper takes leases that are in force', { returns: ledgers.EagerReaperReturns }),
  ledger('lost messages are never found', { returns: ledgers.NeverLostReturns }),
  {
    ...ledger('a job is completed twice', { jobs: ledgers.UnguardedCompletionJobs }),
    controller: ports.completesTwice,
  },
  ledger('a job is completed without a look at its items', { jobs: ledgers.UnguardedCompletionJobs }),
  ledger('a job is completed while a batch is in flight', {
    jobs: ledgers.UnguardedCompletionJobs,
    leases: ledgers.HastyLeases,
  }),
  ledger('a job is completed before its manifest is written', { jobs: ledgers.CompletedFirstJobs }),
  { name: 'bytes are written after the record', worker: ports.writesBytesLate },
  { name: 'artifact keys without the attempt', worker: ports.forgetsTheAttemptInKeys },
  ledger('a lost lease gives no strike', { returns: ledgers.NoStrikeReturns }),
  ledger('a suspect batch is blamed as a whole', { returns: ledgers.BlameAllReturns }),
  { name: 'suspects run without a mark', worker: ports.trustsSuspects },
  ledger('a release gives a strike', { returns: ledgers.ChargedReleaseReturns }),
  ledger('items that came back are forgotten', { returns: ledgers.ForgetfulReturns }),
  ledger('a batch is granted to two workers', { leases: ledgers.GenerousClaimLeases }),
  ledger('deliveries are counted after the work', {
    leases: ledgers.UncountedLeases,
    returns: ledgers.LateCountReturns,
  }),
  ledger('one batch more than the ceiling', { leases: ledgers.NoCeilingLeases }),
  ledger('the breaker does not wait to learn', { leases: ledgers.ImpatientLeases }),
  breakerInMemory(),
  { name: 'the breaker never trips', controller: ports.tripsAndForgets },
  ledger('a paused job is dispatched', { leases: ledgers.DeafToPauseLeases }),
  ledger('a job that waits for a host is dispatched', { leases: ledgers.DeafToHostsLeases }),
  { name: 'the manifest is recorded before it is written', controller: ports.writesBytesLate },
  { name: 'the manifest tells of old items', controller: ports.indexesOldItems },
  ledger('a retry stays in the round that was over', { items: ledgers.SameRoundItems }),
  ledger('a retry of a group reopens other failures', { items: ledgers.UngroupedRetryItems }),
  ledger('a reopened item keeps its old end', { items: ledgers.HalfReopenedItems }),
  ledger('queued batches outlive the cancel', { jobs: ledgers.QueuedOutliveCancelJobs }),
  { name: 'the heartbeat never renews', worker: ports.neverRenews },
  { name: 'a renewal that hangs stops the heartbeat', worker: errors.waitsForEveryRenewal },
  { name: 'an error of our own lets the lease run out', worker: errors.letsLeasesRunOut },
  { name: 'a drained worker drops what it has', worker: ports.dropsWhatItHas },
  ledger('a settle that is repeated is counted twice', { returns: ledgers.CountsRepetitionReturns }),
  { name: 'first come, first served: one job may take every slot', worker: ports.takesWhateverComes },
  { name: 'a controller works without the lead', controller: ports.alwaysLeads },
  { name: 'the reaper trusts the wall clock', controller: clocks.reapsByTheWallClock },
  ledger('a lease from before the clock was set back is believed', { leases: clocks.BelievingLeases }),
  ledger('a removal deletes the next job of that id', { jobs: removals.AnyIncarnationJobs }),
  { name: 'the id is free before the keys are gone', controller: removals.freesTheIdEarly },
  ...RECOVERY_BUGS,
  ...CORRECTION_BUGS,
  ...CONTROL_BUGS,
  ...USAGE_BUGS,
  ...SHARE_BUGS,
  ...DISCOVERY_BUGS,
  ...STEP_BUGS,
  ledger('a batch mixes groups', { leases: batching.MixedGroupLeases }),
  ledger('a batch that waits for its host goes out with the others', { leases: batching.DeafToHoldsLeases }),
  ledger('a batch by group is out of order', { leases: batching.DisorderedGroupLeases }),
  ledger('a drafted job is made before its last items', { jobs: HalfDraftJobs }),
];

function ledger(name: string, parts: Partial<MemoryParts>): Plant {
  return { name, ledger: () => openMemoryLedger(parts) };
}

/** The ledger of the current run, which a new controller makes forget. */
function breakerInMemory(): Plant {
  let current: MemoryLedger | null = null;
  return {
    name: "the breaker's state is lost at a restart",
    ledger: () => {
      current = openMemoryLedger();
      return current;
    },
    controller: () => {
      if (current !== null) ledgers.forgetTallies(current);
      return {};
    },
  };
}
