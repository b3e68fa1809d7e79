/**
 * A page as it was seen, whatever fetched it: the answer to an HTTP request, or what a browser has rendered. Judging a
 * page uses nothing else, so that both are judged by the same rules.
 */
export interface SeenPage {
  /** Where it came from, after all redirects. */
  readonly url: string;
  /** Null for a page that a script assembled without another navigation. */
  readonly status: number | null;
  /** Headers of the answer with the page, with lower-case names; empty if there was none. */
  readonly headers: SeenHeaders;
  /** The HTML: the decoded body, or the rendered document as HTML. Called only when needed. */
  readonly source: () => string;
  /** The title that a browser shows; null to read it from the source. */
  readonly title: string | null;
}

/** Only these are used; there may be others. */
type SeenHeaders = Readonly<
  Partial<Record<'content-type' | 'retry-after' | 'cf-mitigated' | 'x-amzn-waf-action' | 'x-datadome', string>>
>;
