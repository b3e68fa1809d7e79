import type { SiteFindings } from '../../domain/site-findings.ts';
import { htmlSelector } from '../../domain/site-selector.ts';
import { findAll, findFirst } from '../extract/find.ts';
import type { PageDocument } from '../extract/page-document.ts';
import { visibleText } from '../extract/visible-text.ts';

/** Where documentation generators put the text of a page, the most specific first. */
const PLACES = [
  'main article',
  '[role="main"] article',
  '.theme-doc-markdown',
  '.vp-doc',
  '.md-content article',
  '.markdown-body',
  '.devsite-article-body',
  'article',
  'div.body[role="main"]',
  '[role="main"]',
  'main',
  'div.document div.body',
  '#main-content',
  '#content',
  '.content',
];

/** Fewer are what a page shows before its scripts have run: a title, a notice, an empty frame. */
const ENOUGH_WORDS = 40;

/** A place with less than this share of the page's words is a teaser, and the text is elsewhere. */
const LEAST_SHARE = 0.2;

/** Where the content of a page is, as far as its HTML shows. */
export function findContent(document: PageDocument): SiteFindings['content'] {
  const all = countWords(visibleText(document));
  for (const selector of PLACES) {
    const found = findAll(document, null, selector);
    // A list of articles is not the content of one page.
    const [only] = found;
    if (only === undefined || found.length > 1) continue;
    const words = countWords(visibleText(only));
    if (words >= ENOUGH_WORDS && words >= all * LEAST_SHARE) return { selector, words, isInHtml: true };
  }
  return { selector: null, words: all, isInHtml: all >= 2 * ENOUGH_WORDS };
}

/** Words in the first match; 0 if there is none. Null for a selector that only browsers understand. */
export function wordsIn(document: PageDocument, selector: string): number | null {
  const found = htmlSelector(selector);
  if ('problem' in found) return null;
  try {
    const element = findFirst(document, null, found.css);
    return element === null ? 0 : countWords(visibleText(element));
  } catch {
    return null;
  }
}

function countWords(text: string): number {
  return text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
}
