/**
 * Turns of a batch of a documentation pull: each is the right to send one request. They are given out `delayMs` apart, whichever
 * workers ask for them, so that the pace of a batch holds when its worker was killed, when it is carried out in pieces, and
 * when a page is tried again elsewhere.
 */
export interface BatchTurn {
  /** When the last turn is, or was. */
  readonly at: number;
}

export interface TurnWish {
  readonly site: string;
  /** As `turnName` says. */
  readonly name: string;
  readonly delayMs: number;
  readonly now: number;
}

/** A line that is longer than that is not one: a clock was set back. */
const LONGEST_LINE = 1000;

export function nextTurn(last: BatchTurn | null, { delayMs, now }: Pick<TurnWish, 'delayMs' | 'now'>): BatchTurn {
  const next = last === null ? now : last.at + delayMs;
  if (next > now + LONGEST_LINE * delayMs) return { at: now + delayMs };
  return { at: Math.max(now, next) };
}

/** So many per site: they are few enough to be left where they are, and two batches at a time rarely share one. */
const NAMES = 4096;

/** Two batches with the same name wait for each other, which does no harm. */
export function turnName(jobId: string, batch: number): string {
  const text = `${jobId} ${batch}`;
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return String((hash >>> 0) % NAMES);
}
