/** Which kind of worker a job needs: one that fetches, or one that has a browser. */
export const LANES = ['http', 'browser'] as const;
export type Lane = (typeof LANES)[number];
