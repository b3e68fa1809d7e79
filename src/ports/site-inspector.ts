import type { SiteFindings } from '../domain/site-findings.ts';

/** Looks at documentation sites, to propose a configuration. */
export interface SiteInspector {
  /**
   * Asks for the page and for what belongs to its site, with a dozen requests at most. Answers why not if the page cannot
   * be read; what else cannot be read counts as not being there. Rejects with the reason of `signal` when that aborts.
   */
  inspect(asked: Asked, signal: AbortSignal): Promise<Inspection>;
}

export interface Asked {
  readonly url: string;
  /** Where the content should be; null to look for it. */
  readonly selector: string | null;
}

export type Inspection =
  | { readonly kind: 'found'; readonly findings: SiteFindings }
  | { readonly kind: 'unreadable'; readonly message: string };
