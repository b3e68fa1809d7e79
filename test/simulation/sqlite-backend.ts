import { cpSync, existsSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedLedgerHandle, openEmbeddedLedger } from '../../src/adapters/embedded/ledger.ts';
import { EmbeddedWorkQueue } from '../../src/adapters/embedded/work-queue.ts';
import type { HostShares } from '../../src/ports/host-shares.ts';
import type { Leadership } from '../../src/ports/leadership.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import type { WorkQueue } from '../../src/ports/work-queue.ts';
import { type Backend, OpenCalls } from './backend.ts';
import type { Dice } from './dice.ts';
import { SimFault } from './network.ts';
import type { SimProcess } from './sim-process.ts';
import { TearingStore } from './tearing-store.ts';

/** How long bytes may stay in the memory of a machine. */
const UNWRITTEN_MS = 3000;

/** Memory that looks like a disk, where there is some. */
const ROOT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/**
 * The real ledger on a real file, owned by one controller process at a time; with it go its queue and every connection.
 * The sync is a virtual one: it takes a while of the world's time, and remembers how much of the log it covered.
 */
export class SqliteBackend implements Backend {
  readonly kind = 'sqlite';
  readonly store: TearingStore;
  readonly #home = mkdtempSync(join(ROOT, 'trawl-sim-'));
  readonly #syncMs: number;
  readonly #leaseMs: number;
  readonly #dice: Dice;
  readonly #worldTime: () => number;
  readonly #calls = new OpenCalls();
  #boots = 1;
  #lives = 0;
  #open: { owner: SimProcess; handle: EmbeddedLedgerHandle; queue: EmbeddedWorkQueue } | null = null;
  #syncedBytes = 0;

  constructor(dice: Dice, syncMs: number, leaseMs: number, worldTime: () => number) {
    this.#dice = dice;
    this.#worldTime = worldTime;
    this.store = new TearingStore(worldTime);
    this.#syncMs = syncMs;
    this.#leaseMs = leaseMs;
  }

  get ledger(): Ledger {
    return this.#opened().handle.ledger;
  }

  get leadership(): Leadership {
    return this.#opened().handle.leadership;
  }

  get shares(): HostShares {
    return this.#opened().handle.hostShares;
  }

  get queue(): WorkQueue {
    return this.#opened().queue;
  }

  get isAway(): boolean {
    return this.#open === null;
  }

  get owner(): SimProcess | null {
    return this.#open?.owner ?? null;
  }

  get life(): number {
    return this.#lives;
  }

  get hasLostWrites(): boolean {
    return this.#boots > 1;
  }

  probe(): Promise<void> {
    return this.#opened().handle.probe();
  }

  during<T>(run: () => Promise<T>): Promise<T> {
    return this.#calls.during(run);
  }

  /** The ledger opens in this process. Resolves when it may be used. */
  async open(owner: SimProcess): Promise<void> {
    const { clock } = owner;
    const handle = openEmbeddedLedger({
      dataDir: this.#dataDir(),
      clock,
      bootId: `boot ${this.#boots}`,
      leaseGraceMs: this.#leaseMs,
      sync: async () => {
        const bytes = this.#walBytes();
        if (this.#syncMs > 0) await clock.sleep(this.#dice.between(0, this.#syncMs));
        this.#syncedBytes = bytes;
      },
    });
    this.#syncedBytes = this.#walBytes();
    this.#lives += 1;
    await handle.recoverAfterMachineCrash(async ({ key }) => !this.store.isTorn(key));
    this.#open = { owner, handle, queue: new EmbeddedWorkQueue(clock) };
  }

  async closed(process: SimProcess): Promise<void> {
    const open = this.#open;
    if (open?.owner !== process) return;
    this.#open = null;
    this.#calls.cutAll();
    await open.handle.close();
  }

  /** The owner was killed. What it had committed is there when the ledger opens again, synced or not. */
  crash(): void {
    this.#open?.handle.crash();
    this.#open = null;
    this.#calls.cutAll();
  }

  /**
   * The machine went down. Any part of what was not synced may be there, or nothing. Answers the keys of artifacts that
   * are gone; indexes are left alone, because they are not checked.
   */
  crashMachine(): readonly string[] {
    const from = this.#dataDir();
    const isKept = this.#dice.happens(0.5) ? this.#syncedBytes : this.#dice.int(this.#syncedBytes, this.#walBytes());
    this.#boots += 1;
    const to = this.#dataDir();
    for (const name of ['ledger.db', 'ledger.db-wal']) {
      if (existsSync(join(from, name))) cpSync(join(from, name), join(to, name));
    }
    if (existsSync(join(to, 'ledger.db-wal'))) truncateSync(join(to, 'ledger.db-wal'), isKept);
    this.crash();
    rmSync(from, { recursive: true, force: true });
    const since = this.#worldTime() - UNWRITTEN_MS;
    return this.store.tear(
      since,
      (key) => !key.includes('/manifests/') && key.includes('/items/') && this.#dice.happens(0.5),
    );
  }

  dispose(): void {
    this.crash();
    rmSync(this.#home, { recursive: true, force: true });
  }

  #dataDir(): string {
    return join(this.#home, String(this.#boots));
  }

  #walBytes(): number {
    return statSync(join(this.#dataDir(), 'ledger.db-wal'), { throwIfNoEntry: false })?.size ?? 0;
  }

  #opened() {
    if (this.#open === null) throw new SimFault('the owner of the ledger is gone');
    return this.#open;
  }
}
