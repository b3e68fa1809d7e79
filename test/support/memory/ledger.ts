import { composeLedger } from '../../../src/ports/compose-ledger.ts';
import type { Ledger } from '../../../src/ports/ledger.ts';
import { MemoryCore } from './core.ts';
import { MemoryItemBook } from './item-book.ts';
import { MemoryJobBook } from './job-book.ts';
import { MemoryLeaseBook } from './lease-book.ts';
import { MemoryReturns } from './returns.ts';

/** What the ledger is made of. A test replaces one part by its own, to see what a mistake in it does. */
export interface MemoryParts {
  readonly core: new () => MemoryCore;
  readonly jobs: new (core: MemoryCore) => MemoryJobBook;
  readonly items: new (core: MemoryCore) => MemoryItemBook;
  readonly leases: new (core: MemoryCore) => MemoryLeaseBook;
  readonly returns: new (core: MemoryCore) => MemoryReturns;
}

const PARTS: MemoryParts = {
  core: MemoryCore,
  jobs: MemoryJobBook,
  items: MemoryItemBook,
  leases: MemoryLeaseBook,
  returns: MemoryReturns,
};

/**
 * The ledger in its simplest form: the reference that every other adapter is compared with, and the store of most
 * simulations.
 */
export type MemoryLedger = Ledger & { readonly core: MemoryCore };

export function openMemoryLedger(parts: Partial<MemoryParts> = {}): MemoryLedger {
  const { core: Core, jobs: Jobs, items: Items, leases: Leases, returns: Returns } = { ...PARTS, ...parts };
  const core = new Core();
  const ledger = composeLedger({
    changes: core,
    jobs: new Jobs(core),
    items: new Items(core),
    leases: new Leases(core),
    returns: new Returns(core),
  });
  return { ...ledger, core };
}
