import { type Site, type SiteInput, siteIdSchema, siteSchema } from './site.ts';
import { parsePageUrl } from './site-url.ts';

/** What was found out about a site by looking at a page. */
export interface SiteFindings {
  /** Address of that page, after redirects. */
  readonly url: string;
  readonly title: string | null;
  readonly content: {
    /** Where it is, as CSS; null if it is in no usual place. */
    readonly selector: string | null;
    /** Words in that place, or in the whole page. */
    readonly words: number;
    /** Whether it is in the HTML, without running scripts. */
    readonly isInHtml: boolean;
  };
  /** Words in the requested place; 0 if the HTML has none. Null if no place was requested, or it is not CSS. */
  readonly askedWords: number | null;
  readonly markdown: {
    /** At `<url>.md`. */
    readonly hasSuffix: boolean;
    /** For `Accept: text/markdown`. */
    readonly hasAccept: boolean;
  };
  readonly sitemaps: readonly {
    readonly url: string;
    readonly kind: 'pages' | 'index';
    readonly urls: number;
  }[];
  readonly llmsTxt: { readonly url: string; readonly title: string | null; readonly urls: number } | null;
}

/**
 * Proposes a configuration: over HTTP if the content is in the HTML or there is Markdown, in a browser otherwise. The
 * base of the site is the folder of the page.
 */
export function proposeSite(findings: SiteFindings): Site {
  const { title, content, markdown, sitemaps } = findings;
  const baseUrl = folderOf(findings.url);
  const offer = markdown.hasSuffix ? 'suffix' : markdown.hasAccept ? 'accept' : 'none';
  const name = title?.trim().slice(0, 200) ?? '';
  const input: SiteInput = {
    baseUrl,
    mode: content.isInHtml || offer !== 'none' ? 'fetch' : 'browser',
    ...(name === '' ? {} : { name }),
    links: { sitemaps: sitemaps.map(({ url }) => url) },
    content: { markdown: offer, ...(content.selector === null ? {} : { selector: content.selector }) },
  };
  return { id: proposeId(baseUrl), config: siteSchema.parse(input) };
}

/** `/guide/index.html` is in `/guide`, and `/guide` itself counts as a folder. */
function folderOf(url: string): string {
  const { origin, pathname } = new URL(url);
  const segments = pathname.split('/').filter((segment) => segment !== '');
  if (!pathname.endsWith('/') && /\.[a-z0-9]{1,5}$/i.test(segments.at(-1) ?? '')) segments.pop();
  return parsePageUrl(`${origin}/${segments.join('/')}`)?.page ?? origin;
}

/** `https://docs.example.com/guide` is `docs.example.com-guide`. */
function proposeId(baseUrl: string): string {
  const { hostname, port, pathname } = new URL(baseUrl);
  const name = [hostname.replace(/^www\./, ''), port, ...pathname.split('/')].filter((part) => part !== '').join('-');
  const id = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .slice(0, 64)
    .replaceAll(/^[._-]+|[._-]+$/g, '');
  return siteIdSchema.safeParse(id).success ? id : 'site';
}
