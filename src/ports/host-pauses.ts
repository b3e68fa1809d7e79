import type { HostPause, PauseReport } from '../domain/host-pause.ts';

/**
 * Hosts that asked for a pause, shared by all processes: when a host asks one worker to wait, all workers wait. This
 * saves requests and guards no data: a worker that hears of a pause late sends one request too many, and pauses may be
 * forgotten when the process that keeps them ends.
 *
 * This is the part that workers use.
 */
export interface WorkerHostPauses {
  /**
   * A host asked `worker` to wait. The pause in force is the one that ends last, with its own reason; reports that end
   * sooner only count their worker. Repeating a report changes nothing, and neither does a report of something that the
   * host said before its pause was lifted.
   */
  pause(report: PauseReport, worker: string, now: number): Promise<void>;
  /** Pauses in force, by host: each from the moment its `pause` resolved until it is over or lifted. */
  inForce(now: number): Promise<readonly HostPause[]>;
}

export interface HostPauses extends WorkerHostPauses {
  /**
   * Lifts the pause of a host, regardless of which worker reported it. False if none was in force. What the host says
   * after `now` begins a new pause.
   */
  lift(host: string, now: number): Promise<boolean>;
}
