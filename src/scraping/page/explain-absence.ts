import type { FailureType } from '../../domain/failure.ts';
import { hasForm } from './has-form.ts';
import { blockerOf, type CompiledSigns, maintenanceIn, nothingFoundIn, staleStateIn } from './signs.ts';

/** How a visitor came to a page. */
export type Arrival =
  | { readonly kind: 'as-asked' }
  /** Redirects led to another path. `isBack`: to one where the visitor has been before, as a lost session does. */
  | { readonly kind: 'led-away'; readonly asked: string; readonly isBack: boolean };

export interface Explanation {
  readonly type: FailureType;
  readonly said: string;
}

/**
 * Why something is not on a page that seemed good. Here texts count that good pages also have: the page is not what it
 * should be, and they are the best explanation. An author's own signs of a kind were looked for before, and leave nothing
 * to guess of that kind.
 */
export function explainAbsence(source: string, signs: CompiledSigns, arrival: Arrival): Explanation | null {
  const nothing = signs.nothingFound === null ? nothingFoundIn(source) : null;
  // Consent and login pages may well say "no records": what was asked for has not been reached, and a new session may.
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
