import type { MemoryLedger } from '../support/memory/ledger.ts';
import type { Plant } from './plant.ts';
import * as clocks from './planted-clock-bugs.ts';
import { HalfDraftLedger } from './planted-draft-bugs.ts';
import * as errors from './planted-error-bugs.ts';
import * as ledgers from './planted-ledger-bugs.ts';
import * as ports from './planted-port-bugs.ts';
import { RECOVERY_BUGS } from './planted-recovery-bugs.ts';
import * as removals from './planted-removal-bugs.ts';

/** Every bug that the simulation must find within a thousand seeds. */
export const PLANTED_BUGS: readonly Plant[] = [
  ledger('no fence on settle', ledgers.UnfencedLedger),
  ledger('a late write replaces what was recorded', ledgers.OverwritingLedger),
  ledger('fence tokens are used again', ledgers.SameTokenLedger),
  { name: 'the message is acknowledged before the batch is settled', worker: ports.acksWhenItClaims },
  ledger('counters outside the transaction', ledgers.CountersApartLedger),
  { name: 'a partial failure of send is ignored', controller: ports.ignoresRefusedMessages },
  ledger('the reaper serves one job only', ledgers.OneJobReaperLedger),
  ledger('the reaper takes leases that are in force', ledgers.EagerReaperLedger),
  ledger('lost messages are never found', ledgers.NeverLostLedger),
  { ...ledger('a job is completed twice', ledgers.UnguardedCompletionLedger), controller: ports.completesTwice },
  ledger('a job is completed without a look at its items', ledgers.UnguardedCompletionLedger),
  ledger('a job is completed while a batch is in flight', ledgers.HastyCompletionLedger),
  ledger('a job is completed before its manifest is written', ledgers.CompletedFirstLedger),
  { name: 'bytes are written after the record', worker: ports.writesBytesLate },
  { name: 'artifact keys without the attempt', worker: ports.forgetsTheAttemptInKeys },
  ledger('a lost lease gives no strike', ledgers.NoStrikeLedger),
  ledger('a suspect batch is blamed as a whole', ledgers.BlameAllLedger),
  { name: 'suspects run without a mark', worker: ports.trustsSuspects },
  ledger('a release gives a strike', ledgers.ChargedReleaseLedger),
  ledger('items that came back are forgotten', ledgers.ForgetfulLedger),
  ledger('a batch is granted to two workers', ledgers.GenerousClaimLedger),
  ledger('deliveries are counted after the work', ledgers.UncountedDeliveryLedger),
  ledger('one batch more than the ceiling', ledgers.NoCeilingLedger),
  ledger('the breaker does not wait to learn', ledgers.ImpatientLedger),
  breakerInMemory(),
  { name: 'the breaker never trips', controller: ports.tripsAndForgets },
  ledger('a paused job is dispatched', ledgers.DeafToPauseLedger),
  { name: 'the manifest is recorded before it is written', controller: ports.writesBytesLate },
  { name: 'the manifest tells of old items', controller: ports.indexesOldItems },
  ledger('a retry stays in the round that was over', ledgers.SameRoundLedger),
  ledger('a reopened item keeps its old end', ledgers.HalfReopenedLedger),
  ledger('queued batches outlive the cancel', ledgers.QueuedOutliveCancelLedger),
  { name: 'the heartbeat never renews', worker: ports.neverRenews },
  { name: 'a renewal that hangs stops the heartbeat', worker: errors.waitsForEveryRenewal },
  { name: 'an error of our own lets the lease run out', worker: errors.letsLeasesRunOut },
  { name: 'a drained worker drops what it has', worker: ports.dropsWhatItHas },
  ledger('a settle that is repeated is counted twice', ledgers.CountsRepetitionLedger),
  { name: 'first come, first served: one job may take every slot', worker: ports.takesWhateverComes },
  { name: 'a controller works without the lead', controller: ports.alwaysLeads },
  { name: 'the reaper trusts the wall clock', controller: clocks.reapsByTheWallClock },
  ledger('a lease from before the clock was set back is believed', clocks.BelievingLedger),
  ledger('a removal deletes the next job of that id', removals.AnyIncarnationLedger),
  { name: 'the id is free before the keys are gone', controller: removals.freesTheIdEarly },
  ...RECOVERY_BUGS,
  ledger('a drafted job is made before its last items', HalfDraftLedger),
];

function ledger(name: string, Ledger: new () => MemoryLedger): Plant {
  return { name, ledger: () => new Ledger() };
}

/** The ledger of the run that is under way, which a new controller makes forget. */
function breakerInMemory(): Plant {
  let current: ledgers.BlindBreakerLedger | null = null;
  return {
    name: "the breaker's state is lost at a restart",
    ledger: () => {
      current = new ledgers.BlindBreakerLedger();
      return current;
    },
    controller: () => {
      current?.forgetTallies();
      return {};
    },
  };
}
