import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import {
  type EmbeddedLedgerHandle,
  type EmbeddedLedgerOptions,
  openEmbeddedLedger,
} from '../../src/adapters/embedded/ledger.ts';
import { FakeClock } from '../support/fake-clock.ts';

const opened = new WeakMap<TestContext, EmbeddedLedgerHandle[]>();

/** A data directory for one test. It goes when the ledgers in it are closed. */
export function dataDirOf(t: TestContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-embedded-'));
  t.after(async () => {
    for (const handle of opened.get(t) ?? []) await handle.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return dataDir;
}

/** Closed by the test, or by the end of it. */
export function openIn(
  t: TestContext,
  dataDir: string,
  options: Partial<EmbeddedLedgerOptions> = {},
): EmbeddedLedgerHandle {
  const handle = openEmbeddedLedger({ dataDir, clock: new FakeClock(), bootId: 'boot-1', ...options });
  opened.set(t, [...(opened.get(t) ?? []), handle]);
  return handle;
}

/** A disk in the test's hands: each sync waits until it is let go, or is made to fail. */
export class HeldDisk {
  #waiting: PromiseWithResolvers<void>[] = [];
  #isHeld = true;

  readonly sync = (): Promise<void> => {
    if (!this.#isHeld) return Promise.resolve();
    const waiter = Promise.withResolvers<void>();
    this.#waiting.push(waiter);
    return waiter.promise;
  };

  get syncsWaiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when a sync waits. */
  async reached(): Promise<void> {
    while (this.#waiting.length === 0) await setImmediate();
  }

  letGo(): void {
    this.#isHeld = false;
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  hold(): void {
    this.#isHeld = true;
  }

  failWaiting(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('EIO: i/o error, fdatasync'));
  }
}

/** What a promise has come to by now, without waiting for it. */
export async function stateOf(promise: Promise<unknown>): Promise<'pending' | 'resolved' | 'rejected'> {
  const pending = Symbol('pending');
  const first = await Promise.race([promise, Promise.resolve(pending)]).then(
    (value) => (value === pending ? 'pending' : 'resolved'),
    () => 'rejected',
  );
  return first as 'pending' | 'resolved' | 'rejected';
}
