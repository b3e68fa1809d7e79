import type { SiteFindings } from '../domain/site-findings.ts';

/** Looks at documentation sites, to propose a configuration. */
export interface SiteInspector {
  /**
   * Requests the page and whatever else describes its site, with a dozen requests at most. Resolves to the reason if
   * the page cannot be read; anything else that cannot be read counts as absent. Rejects with the reason of `signal`
   * when that aborts.
   */
  inspect(asked: Asked, signal: AbortSignal): Promise<Inspection>;
}

interface Asked {
  readonly url: string;
  /** Where the content should be; null to look for it. */
  readonly selector: string | null;
}

export type Inspection =
  | { readonly kind: 'found'; readonly findings: SiteFindings }
  | { readonly kind: 'unreadable'; readonly message: string };
