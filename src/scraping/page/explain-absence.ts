import type { FailureType } from '../../domain/failure.ts';
import { hasForm } from './has-form.ts';
import { blockerOf, type CompiledSigns, maintenanceIn, nothingFoundIn, staleStateIn } from './signs.ts';

/** How a visitor came to a page. */
export type Arrival =
  | { readonly kind: 'as-asked' }
  /**
   * Redirects led to another path. `isBack`: to one where the visitor has been before, as happens with a lost session.
   */
  | { readonly kind: 'led-away'; readonly asked: string; readonly isBack: boolean };

export interface Explanation {
  readonly type: FailureType;
  readonly said: string;
}

/**
 * Why something is missing on a page that seemed good. Texts that good pages also have count here: the page is not what
 * it should be, and they are the best explanation. If the author has signs of a kind, they were checked before, and
 * nothing of that kind is guessed.
 */
export function explainAbsence(source: string, signs: CompiledSigns, arrival: Arrival): Explanation | null {
  const nothing = signs.nothingFound === null ? nothingFoundIn(source) : null;
  // Consent and login pages may well say "no records": the requested page was not reached, and a new session may reach
  // it.
  if (arrival.kind === 'led-away' && (nothing !== null || arrival.isBack) && hasForm(source)) {
    return { type: 'navigation_failed', said: `the site led to another page than ${arrival.asked}` };
  }
  if (nothing?.isAllItSays) return { type: 'no_results', said: `the site says "${nothing.sentence}"` };
  const maintenance = signs.maintenance === null ? maintenanceIn(source) : null;
  if (maintenance !== null) return { type: 'maintenance', said: `the site says "${maintenance}"` };
  const stale = staleStateIn(source);
  if (stale !== null) return { type: 'navigation_failed', said: `the site says "${stale}"` };
  const blocker = blockerOf(source, { title: null, isGuessed: signs.blocked === null });
  return blocker === null ? null : { type: 'blocked', said: `a page of ${blocker} came instead of the site's` };
}
