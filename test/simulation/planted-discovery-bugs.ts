import { wantedFinds, whenFound } from '../../src/domain/discovery.ts';
import { NO_DISCOVERY } from '../../src/domain/discovery-counts.ts';
import type { Found } from '../../src/domain/found.ts';
import type { ClaimAnswer, SettleAnswer, SettlePart } from '../../src/ports/ledger.ts';
import type { BatchRef } from '../../src/ports/work-queue.ts';
import { appendItem, type JobEntry } from '../support/memory/entries.ts';
import { MemoryLeaseBook } from '../support/memory/lease-book.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { MemoryReturns } from '../support/memory/returns.ts';
import type { Plant } from './plant.ts';

/** Looks at the lease only after the finds are in. */
class AddsBeforeFenceReturns extends MemoryReturns {
  protected override settleWithoutLease(part: SettlePart): SettleAnswer {
    const answer = super.settleWithoutLease(part);
    const entry = this.core.entries.get(part.jobId);
    if (answer !== 'fenced' || entry === undefined) return answer;
    for (const { outcome } of part.items) {
      if (outcome.kind !== 'failed' && outcome.found !== undefined) this.addFound(entry, outcome.found);
    }
    return answer;
  }
}

/** Does not ask whether the job has an item already. */
class AddsTwiceReturns extends MemoryReturns {
  protected override addFound(entry: JobEntry, found: Found): void {
    const { items, counts } = wantedFinds(entry.record, [found]);
    for (const item of items) appendItem(entry, item);
    this.core.write(entry, whenFound(entry.record, { ...counts, added: items.length }));
  }
}

/** Adds the finds in a step of their own, after the items that found them have ended. */
class AddsLaterReturns extends MemoryReturns {
  readonly #left: (readonly [JobEntry, Found])[] = [];

  override settle(parts: readonly SettlePart[], now: number): Promise<readonly SettleAnswer[]> {
    for (const [entry, found] of this.#left.splice(0)) super.addFound(entry, found);
    return super.settle(parts, now);
  }

  protected override addFound(entry: JobEntry, found: Found): void {
    this.#left.push([entry, found]);
  }
}

/** Adds what is beyond the limit, too. */
class BoundlessReturns extends MemoryReturns {
  protected override addFound(entry: JobEntry, found: Found): void {
    const { policy } = entry.record;
    const discovery = { max_depth: 1000, max_items: policy.discovery.max_items };
    this.core.write(entry, { ...entry.record, policy: { ...policy, discovery } });
    super.addFound(entry, found);
    this.core.write(entry, { ...entry.record, policy });
  }
}

/** Forgets the finds of a job that is paused at that moment. */
class ForgetsWhenPausedReturns extends MemoryReturns {
  protected override addFound(entry: JobEntry, found: Found): void {
    if (entry.record.status !== 'paused') super.addFound(entry, found);
    else this.core.write(entry, whenFound(entry.record, { ...NO_DISCOVERY, overLimit: found.items.length }));
  }
}

/** Every item seems to be a submitted one. */
class FlatLeases extends MemoryLeaseBook {
  protected override claimOne(ref: BatchRef, worker: string, until: number, now: number): ClaimAnswer {
    const answer = super.claimOne(ref, worker, until, now);
    if (typeof answer !== 'object') return answer;
    return { ...answer, items: answer.items.map(({ depth: _depth, ...item }) => item) };
  }
}

/** Mistakes in how found items get into their job. */
export const DISCOVERY_BUGS: readonly Plant[] = [
  {
    name: 'a fenced settle adds what it found',
    ledger: () => openMemoryLedger({ returns: AddsBeforeFenceReturns }),
  },
  {
    name: 'what is found again is added again',
    ledger: () => openMemoryLedger({ returns: AddsTwiceReturns }),
  },
  {
    name: 'finds are added after the item has ended',
    ledger: () => openMemoryLedger({ returns: AddsLaterReturns }),
  },
  {
    name: 'the limit of depth is not kept',
    ledger: () => openMemoryLedger({ returns: BoundlessReturns }),
  },
  {
    name: 'a paused job loses what its workers found',
    ledger: () => openMemoryLedger({ returns: ForgetsWhenPausedReturns }),
  },
  { name: 'the depth of an item is not counted', ledger: () => openMemoryLedger({ leases: FlatLeases }) },
];
