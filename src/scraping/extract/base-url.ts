import type { CheerioAPI } from 'cheerio';
import { documentOf } from './find.ts';
import { PageDocument } from './page-document.ts';

/** What links and forms of a page are relative to: its address, unless its `<base>` names another. */
export function resolveBaseUrl($: CheerioAPI, url: string): string {
  const page = documentOf($);
  const href = page instanceof PageDocument ? page.baseHref : null;
  return (href !== null && URL.parse(href, url)?.href) || url;
}
