import type { MemoryLedger } from '../../src/adapters/memory/ledger.ts';
import type { Plant } from './plant.ts';
import * as ledgers from './planted-ledger-bugs.ts';
import * as ports from './planted-port-bugs.ts';

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
  { name: 'a drained worker drops what it has', worker: ports.dropsWhatItHas },
  ledger('a settle that is repeated is counted twice', ledgers.CountsRepetitionLedger),
  { name: 'a controller works without the lead', controller: ports.alwaysLeads },
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
