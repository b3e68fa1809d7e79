/**
 * A page as it was seen, whatever fetched it: the answer to an HTTP request, or what a browser has rendered. It is all that
 * page judgement knows, so that both are judged by the same rules.
 */
export interface SeenPage {
  /** Where it came from, after all redirects. */
  readonly url: string;
  /** Null for a page that a script put together without another navigation. */
  readonly status: number | null;
  /** Headers of the answer that the page came with, with lower-case names; empty if there was none. */
  readonly headers: SeenHeaders;
  /** The HTML: the body, decoded, or the rendered document written out as HTML. Called only when it is needed. */
  readonly source: () => string;
  /** The title that a browser shows; null to read it from the source. */
  readonly title: string | null;
}

/** Only these are looked at; others may be there. */
type SeenHeaders = Readonly<
  Partial<Record<'content-type' | 'retry-after' | 'cf-mitigated' | 'x-amzn-waf-action' | 'x-datadome', string>>
>;
