import type { PageDocument } from './page-document.ts';

/** What links and forms of a page are relative to: its address, unless its `<base>` names another. */
export function resolveBaseUrl({ baseHref }: PageDocument, url: string): string {
  return (baseHref !== null && URL.parse(baseHref, url)?.href) || url;
}
