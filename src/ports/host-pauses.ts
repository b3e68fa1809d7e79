import type { HostPause, PauseReport } from '../domain/host-pause.ts';

/**
 * Hosts that asked to be left alone, shared by all processes: a host that told one worker to wait is waiting for all of
 * them. It saves requests, it guards no data: a worker that hears of a pause late asks once too often, and pauses may be
 * forgotten when the process that keeps them ends.
 *
 * This is the workers' end of it.
 */
export interface WorkerHostPauses {
  /**
   * A host asked `worker` to wait. The pause in force is the one that ends last, with its own reason; reports that end
   * sooner only count their worker. The same report twice changes nothing, and neither does one of what the host said
   * before its pause was lifted.
   */
  pause(report: PauseReport, worker: string, now: number): Promise<void>;
  /** Pauses in force, by host: each from when its `pause` resolved until it is over or lifted. */
  inForce(now: number): Promise<readonly HostPause[]>;
}

export interface HostPauses extends WorkerHostPauses {
  /**
   * Lifts the pause of a host, whoever reported it. False if none was in force. What the host says after `now` begins a new
   * one.
   */
  lift(host: string, now: number): Promise<boolean>;
}
