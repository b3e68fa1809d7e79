/**
 * Named points at which a test may make the process die, stall or fail. In production nothing happens there. A point is
 * worth a name if dying there could lose or duplicate something.
 */
export const FAULT_POINTS = [
  'after-dispatch-before-send',
  'after-send',
  'after-receive-before-claim',
  'after-claim-before-work',
  'after-work-before-bytes',
  'after-bytes-before-settle',
  'after-settle-before-ack',
  'after-ack',
  'after-expire',
  'after-finish-before-manifest',
  'between-manifest-parts',
  'after-manifest-before-record',
  'between-import-chunks',
  'between-recoveries',
  'between-draft-chunks',
  'after-draft-before-commit',
  'after-recording-before-job',
  'after-run-order-before-job',
  'before-run-report',
  'after-run-report',
  'after-run-finalized',
] as const;

export type FaultPoint = (typeof FAULT_POINTS)[number];

export interface Faults {
  at(point: FaultPoint): void | Promise<void>;
}

export const NO_FAULTS: Faults = { at() {} };
