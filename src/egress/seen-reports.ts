import { mergeSeen } from '../domain/compliance.ts';
import type { HostWatch } from '../domain/host-watch.ts';
import type { Clock } from '../ports/clock.ts';
import type { SeenReport, WorkerHostRecords } from '../ports/host-records.ts';

interface SeenReportsDeps {
  readonly watch: HostWatch;
  readonly records: WorkerHostRecords;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly onError: (where: string, error: unknown) => void;
}

/** More than a process has to report at once; the rest is dropped. */
const MAX_UNSENT = 2000;

/** Reports what the watch of this process saw, every few seconds. Failed reports are repeated next time. */
export class SeenReports {
  readonly #deps: SeenReportsDeps;
  #unsent = new Map<string, SeenReport>();
  #isFailing = false;

  constructor(deps: SeenReportsDeps) {
    this.#deps = deps;
  }

  /** Runs until `stop` aborts. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, everyMs } = this.#deps;
    while (!stop.aborted) {
      await clock.sleep(everyMs, stop);
      await this.runOnce(clock.now());
    }
    // Includes the current second: nothing more will happen in it.
    await this.runOnce(clock.now() + 1000);
  }

  /** Reports the seconds before `until`. */
  async runOnce(until: number): Promise<void> {
    const { watch, records, onError } = this.#deps;
    for (const host of watch.hosts()) {
      const seen = watch.take(host, until);
      if (seen === null) continue;
      for (const [jobId, job] of seen.jobs) {
        this.#keep({ jobId, host, seen: { pauses: seen.pauses, jobs: new Map([[jobId, job]]) } });
      }
    }
    if (this.#unsent.size === 0) return;
    const sent = this.#unsent;
    this.#unsent = new Map();
    try {
      await records.report([...sent.values()]);
      this.#isFailing = false;
    } catch (error) {
      for (const report of sent.values()) this.#keep(report);
      // Reported once, however long it lasts.
      if (!this.#isFailing) onError('records of hosts', error);
      this.#isFailing = true;
    }
  }

  #keep(report: SeenReport): void {
    const name = `${report.jobId}\n${report.host}`;
    const known = this.#unsent.get(name);
    if (known === undefined && this.#unsent.size >= MAX_UNSENT) return;
    this.#unsent.set(name, known === undefined ? report : { ...report, seen: mergeSeen(known.seen, report.seen) });
  }
}
