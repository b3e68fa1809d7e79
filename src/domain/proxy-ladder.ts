/**
 * The step of the proxy ladder at which a job starts its items. It begins with the first. When most items that started
 * at a step had to climb beyond it, all later items start one step higher: the site blocks that kind of visitor, and
 * trying it first only wastes a request. The job never climbs down; a change of its policy starts over.
 */
export interface JobLadder {
  readonly step: number;
  /** Items that started at this step and ended. */
  readonly ended: number;
  /** How many of these climbed. */
  readonly climbed: number;
}

export const FIRST_STEP: JobLadder = { step: 0, ended: 0, climbed: 0 };

/** Fewer prove too little: three of three blocked may be one bad exit. */
const MIN_ENDED = 10;
/** Items older than about this many count half, so that a site that starts to block late is noticed. */
const MEMORY = 50;

/** `steps` is the length of the ladder. */
export function afterItem(ladder: JobLadder, item: { startedAt: number; endedAt: number }, steps: number): JobLadder {
  // It started before the job climbed.
  if (item.startedAt !== ladder.step) return ladder;
  const ended = ladder.ended + 1;
  const climbed = ladder.climbed + (item.endedAt > item.startedAt ? 1 : 0);
  if (ended >= MIN_ENDED && climbed * 2 > ended && ladder.step + 1 < steps) {
    return { step: ladder.step + 1, ended: 0, climbed: 0 };
  }
  return ended < MEMORY ? { ...ladder, ended, climbed } : { ...ladder, ended: ended / 2, climbed: climbed / 2 };
}
