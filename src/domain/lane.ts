/** The kind of worker a job needs: one that sends requests, or one that has a browser. */
export const LANES = ['http', 'browser'] as const;
export type Lane = (typeof LANES)[number];

/**
 * A warning for a job that would wait forever: null if the lane has workers, or if that is unknown (`served` is null).
 */
export function laneWarning(lane: Lane, served: ReadonlySet<Lane> | null): string | null {
  if (served === null || served.has(lane)) return null;
  return `no workers serve the ${lane} lane; start one with trawl worker --lane ${lane}`;
}
