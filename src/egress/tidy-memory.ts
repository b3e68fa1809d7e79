import type { Clock } from '../ports/clock.ts';
import type { Web, WebAnswer, WebFailed } from './web.ts';

/** Parsing a page of this size costs more time than collecting its garbage. */
const LARGE_BYTES = 1 << 20;

/** By then a page has usually been read. */
const TIDY_AFTER_MS = 30;

/**
 * A web whose large answers do not linger. Their garbage is collected eventually, but only after a hundred megabytes,
 * and a site that sends such pages for every item would keep all workers that large. So it is collected when the next
 * one arrives, before it is inflated, and a moment later in case there is no next one.
 */
export function withTidyMemory<T extends Web>(web: T, { collect, clock }: { collect: () => void; clock: Clock }): T {
  let isDue = false;
  const tidy = async () => {
    collect();
    if (isDue) return;
    isDue = true;
    await clock.sleep(TIDY_AFTER_MS);
    isDue = false;
    collect();
  };
  return {
    ...web,
    async send(request, visit) {
      const end = await web.send(request, visit);
      if (wasLarge(end)) void tidy();
      return end;
    },
  };
}

function wasLarge(end: WebAnswer | WebFailed): boolean {
  return end.kind === 'answer' ? end.body.length > LARGE_BYTES : end.failure.type === 'too_large';
}
