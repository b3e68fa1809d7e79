import type { WebAnswer } from '../../egress/web.ts';
import type { Arrival } from '../page/explain-absence.ts';
import type { PageRequest } from './requester.ts';

/**
 * Where a visitor has been, to distinguish a requested page from one that a site leads back to when a session is lost.
 */
export class Arrivals {
  readonly #seen = new Set<string>();

  /** Remembers a good page: a bad answer that is requested again is not a place where the visitor has been. */
  note({ url }: WebAnswer): void {
    this.#seen.add(url);
  }

  /** How a page was reached; call it before the page is noted. */
  describe({ method, url: asked, from }: PageRequest, { url: reached, redirects }: WebAnswer): Arrival {
    if (redirects.length === 0 || pathOf(new URL(reached)) === pathOf(new URL(asked))) return { kind: 'as-asked' };
    const place = placeOf(reached);
    const hasBeenThere = [...this.#seen].some((url) => placeOf(url) === place);
    const isBack = hasBeenThere && (from === null || placeOf(from) !== place);
    // The answer to a form is often a separate page: only one that was there before the form means that it was not
    // accepted.
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
