import { MAX_PAUSE_MS, MAX_REASON_LENGTH, MIN_SHARED_PAUSE_MS, type PauseReport } from '../domain/host-pause.ts';
import { type HostSettings, limitsOf, withOperatorPauses } from '../domain/host-settings.ts';
import type { Clock } from '../ports/clock.ts';
import type { WorkerHostPauses } from '../ports/host-pauses.ts';
import type { WorkerHostSettings } from '../ports/host-settings.ts';
import type { PoliteHostGate } from './polite-host-gate.ts';

interface SharedPausesDeps {
  readonly pauses: WorkerHostPauses;
  readonly settings: WorkerHostSettings;
  /** The name of this process. */
  readonly worker: string;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly onError: (where: string, error: unknown) => void;
}

/**
 * Answers that arrive together ask for pauses that end together; only one that ends this much later is reported again.
 */
const LATER_MS = 5000;

/** While more hosts than this are paused, a new pause stays within this process: the list is read every few seconds. */
const MAX_SHARED = 500;

/**
 * Exchanges pauses and settings of hosts between the gate of this process and all others. At each look it reports
 * pauses that began here, learns those in force, releases hosts whose pause was lifted, and gives the gate what
 * operators have set. While that fails, the gate uses what it knows.
 */
export class SharedPauses {
  readonly #deps: SharedPausesDeps;
  /** Begun here and not reported yet. */
  readonly #begun = new Map<string, PauseReport>();
  /** Pauses requested by hosts that were in force when we last looked, or reported since; and their ends. */
  #shared = new Map<string, number>();
  /** All pauses that the gate observes, for whatever reason. */
  #kept = new Map<string, number>();
  /** Versions of the settings that the gate has. */
  #set = new Map<string, string>();
  #isFailing = false;
  #looking: Promise<void> | null = null;

  constructor(deps: SharedPausesDeps) {
    this.#deps = deps;
  }

  /** A host asked this process to wait. */
  note(host: string, ms: number, reason: string): void {
    if (ms < MIN_SHARED_PAUSE_MS) return;
    const at = this.#deps.clock.now();
    const until = at + ms;
    const known = Math.max(this.#begun.get(host)?.until ?? 0, this.#shared.get(host) ?? 0);
    if (until < known + LATER_MS || (known === 0 && this.#begun.size + this.#shared.size >= MAX_SHARED)) return;
    this.#begun.set(host, { host, until, reason: reason.slice(0, MAX_REASON_LENGTH), at });
  }

  /** Looks every few seconds until `stop` aborts. */
  async run(gate: PoliteHostGate, stop: AbortSignal): Promise<void> {
    const { clock, everyMs, onError } = this.#deps;
    while (!stop.aborted) {
      try {
        await this.runOnce(gate);
        this.#isFailing = false;
      } catch (error) {
        // Reported once, however long it lasts.
        if (!this.#isFailing && !stop.aborted) onError('host pauses', error);
        this.#isFailing = true;
      }
      await clock.sleep(everyMs, stop);
    }
  }

  /**
   * Looks now, and returns whether the host is still paused. Concurrent callers get the same answer. If it cannot look,
   * the gate's own knowledge counts.
   */
  async isPaused(gate: PoliteHostGate, host: string): Promise<boolean> {
    this.#looking ??= this.runOnce(gate)
      .catch(() => {})
      .finally(() => {
        this.#looking = null;
      });
    await this.#looking;
    return gate.pauseOf(host) !== null;
  }

  async runOnce(gate: PoliteHostGate): Promise<void> {
    const { pauses, worker, clock } = this.#deps;
    for (const report of [...this.#begun.values()]) {
      await pauses.pause(report, worker, clock.now());
      this.#shared.set(report.host, report.until);
      this.#kept.set(report.host, report.until);
      if (this.#begun.get(report.host) === report) this.#begun.delete(report.host);
    }
    const [asked, settings] = await Promise.all([pauses.inForce(clock.now()), this.#deps.settings.list()]);
    this.#shared = new Map(asked.map(({ host, until }) => [host, until]));
    const now = clock.now();
    const inForce = withOperatorPauses(asked, settings, now);
    const before = this.#kept;
    this.#kept = new Map(inForce.map(({ host, until }) => [host, until]));
    for (const [host, until] of before) {
      // A pause that began while we looked is not the one that was lifted.
      if ((this.#kept.get(host) ?? 0) < until && !this.#begun.has(host)) gate.resume(host);
    }
    for (const { host, until, reason } of inForce) gate.keepAway(host, Math.min(until - now, MAX_PAUSE_MS), reason);
    this.#apply(settings, gate);
  }

  #apply(settings: readonly HostSettings[], gate: PoliteHostGate): void {
    const before = this.#set;
    this.#set = new Map(settings.map(({ host, version }) => [host, version]));
    for (const each of settings) if (before.get(each.host) !== each.version) gate.setLimits(each.host, limitsOf(each));
    for (const host of before.keys()) if (!this.#set.has(host)) gate.setLimits(host, null);
  }
}
