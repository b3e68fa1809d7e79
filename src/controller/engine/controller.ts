import type { Digest } from '../../domain/artifact.ts';
import { needsManifest } from '../../domain/job.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { KeptRecordings } from '../../ports/kept-recordings.ts';
import type { Leadership } from '../../ports/leadership.ts';
import type { Ledger, LedgerChange } from '../../ports/ledger.ts';
import type { RecordingBook } from '../../ports/recording-book.ts';
import type { ResultStore } from '../../ports/result-store.ts';
import type { DeadLetters, WorkQueue } from '../../ports/work-queue.ts';
import { DeadLetterDrain } from './dead-letters.ts';
import type { LostWaitsDeps } from './end-lost-waits.ts';
import type { EventStream } from './events.ts';
import { Finisher } from './finisher.ts';
import { ItemManifests } from './item-manifests.ts';
import { Loop } from './loop.ts';
import { Reaper } from './reaper.ts';
import { RecordingSweep } from './recording-sweep.ts';
import { Remover } from './remover.ts';
import { Scheduler } from './scheduler.ts';
import { StorageGuard } from './storage-guard.ts';

/**
 * The controller's background work in one place: it leads or follows, and while it leads, changes in the ledger wake
 * the scheduler and the finisher at once, and slow loops look again in case a hint was lost.
 */
export class Controller {
  readonly events: EventStream;
  readonly #deps: ControllerDeps;
  readonly #scheduler: Scheduler;
  readonly #reaper: Reaper;
  readonly #finisher: Finisher;
  readonly #remover: Remover;
  readonly #itemManifests: ItemManifests;
  readonly #guard: StorageGuard;
  readonly #loops: {
    scheduler: Loop;
    reaper: Loop;
    finisher: Loop;
    remover: Loop;
    recordings: Loop;
    guard: Loop;
    leader: Loop;
    deadLetters?: Loop;
  };
  readonly #stop = new AbortController();
  /** Cancelled jobs that a worker is still processing: their manifest is due when it ends. */
  readonly #ending = new Set<string>();
  #isLeading = false;
  /** By `elapsed()`: a leader that cannot renew its lead must assume that it is lost when its time is over. */
  #leadsUntil = 0;
  /** Counts how often this controller began to lead: in between, another may have led. */
  #term = 0;
  /** By `elapsed()`: before that, what a former leader sent to the result store may still arrive. */
  #storeIsOursAt = 0;
  /** By `elapsed()`: from then on, no former leader can pause jobs because of its storage. */
  #proveStorageAt = Number.POSITIVE_INFINITY;
  #isStorageProven = false;
  #running: Promise<void> | null = null;

  constructor(deps: ControllerDeps) {
    const { clock, settings } = deps;
    this.#deps = deps;
    this.events = deps.events;
    const isLeading = () => this.#isLeading && clock.elapsed() < this.#leadsUntil;
    const mayWork = () => isLeading() && this.#guard.isWell() && !this.#stop.signal.aborted;
    const ownsStore = () => clock.elapsed() >= this.#storeIsOursAt;
    const onError = (where: string, error: unknown) => this.#onError(where, error);
    const shared = { ...deps, mayWork, onError };
    const { hosts } = deps;
    this.#scheduler = new Scheduler({ ...shared, ...(hosts && { hosts }), itemsPerBatch: settings.itemsPerBatch });
    this.#reaper = new Reaper({ ...shared, leaseMs: settings.leaseMs, lostAfterMs: settings.lostAfterMs });
    const mayWrite = () => mayWork() && ownsStore();
    this.#itemManifests = new ItemManifests({ ...shared, mayWork: mayWrite, byDefault: settings.itemManifests });
    this.#finisher = new Finisher({ ...shared, mayWork: mayWrite, itemManifests: this.#itemManifests });
    // Runs even while the storage is in trouble: deleting something makes room on a full disk.
    this.#remover = new Remover({
      ...shared,
      leadTerm: () => (isLeading() && ownsStore() && !this.#stop.signal.aborted ? this.#term : null),
      whenWritten: async (jobId) => {
        await this.#finisher.whenDone(jobId);
        await this.#itemManifests.whenIdle();
      },
      again: () => this.#loops.remover.poke(),
    });
    this.#guard = new StorageGuard({
      ...shared,
      isLeading,
      onTrouble: () => this.#loops.guard.poke(),
      onRecovery: () => {
        this.#reaper.giveGrace();
        this.#wakeAll();
      },
    });
    const sweep = new RecordingSweep({ ...shared });
    const loop = (name: string, everyMs: number, runOnce: () => Promise<unknown>) =>
      new Loop({ clock, everyMs, runOnce, onError: (error) => onError(name, error) });
    this.#loops = {
      leader: loop('leader', settings.leadMs / 3, () => this.#keepLead()),
      scheduler: loop('scheduler', settings.pollMs, () => this.#scheduler.runOnce()),
      reaper: loop('reaper', settings.reapMs, () => this.#reaper.runOnce()),
      finisher: loop('finisher', settings.pollMs, () => this.#finisher.runOnce()),
      remover: loop('remover', settings.pollMs, () => this.#remover.runOnce()),
      recordings: loop('recordings', SWEEP_EVERY_POLLS * settings.pollMs, () => sweep.runOnce()),
      guard: loop('storage', settings.probeMs, () => this.#guardOnce()),
    };
    if (deps.deadLetters !== undefined) {
      const drain = new DeadLetterDrain({ ...shared, deadLetters: deps.deadLetters });
      this.#loops.deadLetters = loop('dead letters', DRAIN_EVERY_REAPS * settings.reapMs, () => drain.runOnce());
    }
  }

  start(): void {
    if (this.#running) throw new Error('the controller is already running');
    this.#running = this.#run();
  }

  /** Waits for work under way, and gives up the lead. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Whether this controller schedules, reaps and finishes; and what is wrong with the storage, or null. */
  standing(): { readonly isLeading: boolean; readonly storageProblem: string | null } {
    const isLeading = this.#isLeading && this.#deps.clock.elapsed() < this.#leadsUntil;
    return { isLeading, storageProblem: this.#guard.problem };
  }

  /** A worker is known to be lost: its leases are due now. */
  workerLost(): void {
    this.#loops.reaper.poke();
  }

  /** Another part of the system could not write. */
  storageTrouble(message: string): void {
    this.#guard.reportMessage(message);
  }

  async #run(): Promise<void> {
    const { ledger, leadership, holder, clock } = this.#deps;
    const unsubscribe = ledger.subscribe((change) => this.#onChange(change));
    await Promise.all(Object.values(this.#loops).map((loop) => loop.run(this.#stop.signal)));
    await this.#scheduler.stop();
    await this.#remover.stop();
    unsubscribe();
    await this.#itemManifests.stop();
    // While the leader that this one overtook may still be at work, the next one must wait for it too. It would not
    // after a resignation; after a lead that expired it does.
    if (clock.elapsed() < this.#storeIsOursAt) return;
    await leadership.resign(holder).catch((error: unknown) => this.#onError('resign', error));
  }

  #onChange(change: LedgerChange): void {
    this.events.publish(change);
    switch (change.kind) {
      case 'job':
        this.#scheduler.poke(change.job.jobId);
        if (change.job.removing) this.#loops.remover.poke();
        if (change.job.reason?.code === 'storage' && this.#guard.isWell()) this.#proveStorage();
        if (needsManifest(change.job) || change.job.recovering) this.#loops.finisher.poke();
        else if (change.job.status === 'cancelled') this.#ending.add(change.job.jobId);
        return;
      case 'settled':
      case 'returned':
        if (change.kind === 'settled') this.#itemManifests.heard(change);
        this.#scheduler.poke(change.jobId);
        if (this.#ending.delete(change.jobId)) this.#checkEnding(change.jobId);
        if (change.kind === 'returned' && change.because === 'storage') {
          this.#guard.reportMessage('a worker could not store its results');
        }
        return;
      case 'dispatched':
      case 'claimed':
      case 'fenced':
    }
  }

  /**
   * A late write of a former leader has paused the job: the storage works here, and nothing else would resume the job.
   */
  #proveStorage(): void {
    this.#isStorageProven = false;
    this.#loops.guard.poke();
  }

  #checkEnding(jobId: string): void {
    const look = async () => {
      const job = await this.#deps.ledger.job(jobId);
      if (job === null) return;
      if (needsManifest(job)) this.#loops.finisher.poke();
      else if (job.status === 'cancelled' && job.manifest === null) this.#ending.add(jobId);
    };
    look().catch((error: unknown) => this.#onError('ending', error));
  }

  async #keepLead(): Promise<void> {
    const { leadership, holder, clock, settings } = this.#deps;
    const askedAt = clock.elapsed();
    const now = clock.now();
    const hasLed = this.#isLeading && askedAt < this.#leadsUntil;
    const leads = await leadership.lead(holder, now + settings.leadMs, now);
    if (leads) this.#leadsUntil = askedAt + settings.leadMs;
    const isLeading = leads !== false;
    if (isLeading !== this.#isLeading) this.events.publish({ kind: isLeading ? 'leading' : 'following', holder });
    this.#isLeading = isLeading;
    if (!isLeading || hasLed) return;
    this.#term += 1;
    // The other may consider itself the leader until its own time is over, whatever the clocks say.
    if (leads === 'overtook') this.#proveStorageAt = this.#storeIsOursAt = askedAt + settings.handoverMs;
    // Another controller may have led meanwhile and left jobs paused; and while our own lead had lapsed, pokes were
    // refused. Every job is looked at now, not at the next poll.
    this.#isStorageProven = false;
    this.#wakeAll();
  }

  async #guardOnce(): Promise<void> {
    // A leader probes at its start, for jobs that an earlier one left paused, and again when that one can no longer
    // have paused any: the report of its last write may be lost. Otherwise it probes only while there is trouble.
    if (this.#isLeading && this.#deps.clock.elapsed() >= this.#proveStorageAt) {
      this.#proveStorageAt = Number.POSITIVE_INFINITY;
      this.#isStorageProven = false;
    }
    if (this.#guard.isWell() && (this.#isStorageProven || !this.#isLeading)) return;
    this.#isStorageProven = await this.#guard.runOnce();
  }

  #wakeAll(): void {
    this.#loops.guard.poke();
    this.#loops.scheduler.poke();
    this.#loops.finisher.poke();
    this.#loops.remover.poke();
    this.#loops.reaper.poke();
    this.#loops.deadLetters?.poke();
  }

  #onError(where: string, error: unknown): void {
    if (this.#guard.report(error)) return;
    this.events.publish({ kind: 'engine-error', where, error });
  }
}

/** Dead letters are rare, each look is a request, and what it finds waits for the reaper anyway. */
const DRAIN_EVERY_REAPS = 4;

/** Claims are rare, and no document is removed before its claim is an hour old. */
const SWEEP_EVERY_POLLS = 120;

export interface ControllerSettings {
  readonly leaseMs: number;
  readonly lostAfterMs: number;
  readonly leadMs: number;
  /**
   * After a leader took over from one that may be alive: until then that one may consider itself the leader (`leadMs`),
   * and what it last sent to the result store may arrive. Zero if a former leader is known to be dead.
   */
  readonly handoverMs: number;
  readonly reapMs: number;
  readonly pollMs: number;
  readonly probeMs: number;
  readonly itemsPerBatch: number;
  /** Whether each item gets its own manifest if the policy of its job does not say. */
  readonly itemManifests: boolean;
}

interface ControllerDeps {
  readonly holder: string;
  readonly ledger: Ledger;
  readonly leadership: Leadership;
  readonly queue: WorkQueue;
  /** Only for a queue that sets messages aside. */
  readonly deadLetters?: DeadLetters;
  readonly store: ResultStore;
  readonly recordings: KeptRecordings;
  readonly recordingBook: RecordingBook;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly events: EventStream;
  readonly digest: Digest;
  /** See StorageGuard. */
  readonly probe: () => Promise<void>;
  readonly makeRoom: () => Promise<void>;
  readonly settings: ControllerSettings;
  /** Pauses and settings of hosts; only if workers share them. */
  readonly hosts?: Pick<LostWaitsDeps, 'hostPauses' | 'hostSettings'>;
}
