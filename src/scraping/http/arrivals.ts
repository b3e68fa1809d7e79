import type { WebAnswer } from '../../egress/web.ts';
import type { Arrival } from '../page/explain-absence.ts';
import type { PageRequest } from './requester.ts';

/** Where a visitor has been, to tell a page that was asked for from one that a site leads back to when a session is lost. */
export class Arrivals {
  readonly #seen = new Set<string>();

  /** Remembers a page that was good: a bad answer that is asked for again is not a place where the visitor has been. */
  note({ url }: WebAnswer): void {
    this.#seen.add(placeOf(url));
  }

  /** How a page was reached, to be asked before it is noted. */
  describe({ method, url: asked, from }: PageRequest, { url: reached, redirects }: WebAnswer): Arrival {
    if (redirects.length === 0 || pathOf(new URL(reached)) === pathOf(new URL(asked))) return { kind: 'as-asked' };
    const place = placeOf(reached);
    const isBack = this.#seen.has(place) && (from === null || placeOf(from) !== place);
    // The answer to a form is often a page of its own: only one that was there before the form says that it was not taken.
    if (method === 'POST' && !isBack) return { kind: 'as-asked' };
    return { kind: 'led-away', asked: new URL(asked).pathname, isBack };
  }
}

/** Without what differs between two visits to one page. */
function placeOf(address: string): string {
  const url = new URL(address);
  return `${url.host}${pathOf(url)}`;
}

function pathOf({ pathname }: URL): string {
  return pathname.toLowerCase().replace(/\/+$/, '');
}
