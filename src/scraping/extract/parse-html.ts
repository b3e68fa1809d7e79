import type { CheerioAPI } from 'cheerio';
import { load } from 'cheerio/slim';
import { fail } from '../scrape-failure.ts';
import { HtmlParser } from './html-parser.ts';
import { DocumentBuilder, type PageDocument, type PageLimits } from './page-document.ts';

/**
 * Measured on Node 26: a node takes 160 to 200 bytes and an attribute up to 90, so that no page takes more than about
 * 30 MB; a county's table of 5,000 rows has 120,000 nodes. Chromium's own limit is 512 levels. Selectors, `text()` and
 * `html()` call themselves once a level, and the stack holds many times as many.
 */
export const PAGE_LIMITS: PageLimits = { maxNodes: 125_000, maxDetails: 125_000, maxDepth: 512 };

/**
 * Parses a page by the rules of htmlparser2, in half the time or less that the algorithm of browsers (parse5) takes. For a
 * well-formed page both give the same result, including `<html>`, `<body>` and `<tbody>`, so that selectors copied from a
 * browser match. For other pages they differ, on purpose; we
 * - add no `<head>`, and leave the content of an unclosed one inside it;
 * - end `<p>`, `<li>`, `<td>`, `<tr>` and `<option>` as a browser does, but take a `<th>` after an open `<td>`, or a
 *   `<tbody>` after an open cell, to be inside of it;
 * - let an end tag that belongs to nothing close an element further out: `</tr>` twice in a nested table;
 * - leave what is not allowed in a table (a form, a text) where it is written; a browser puts it before the table;
 * - do not split elements that overlap (`<b><i></b></i>`).
 */
export function parseHtml(text: string, limits: PageLimits = PAGE_LIMITS): PageDocument {
  if (hasMore(text, '&', limits.maxDetails)) {
    fail('too_large', `the page has more than ${limits.maxDetails} character references`);
  }
  // An element has at most two of them, so that a page like this need not be begun.
  if (hasMore(text, '<', 2 * limits.maxNodes)) {
    fail('too_large', `the page has more than ${limits.maxNodes} elements and texts`);
  }
  const builder = new DocumentBuilder(limits);
  new HtmlParser(text, builder).run();
  return builder.document;
}

/**
 * For authors who need more than the readers offer. It costs as much as reading ten values, so it is only built on
 * demand.
 */
export function cheerioOf(document: PageDocument): CheerioAPI {
  // As HTML, with literal letters: `html()` would otherwise write é as a number.
  return load(document, { xml: { xmlMode: false, encodeEntities: 'utf8' } });
}

/** Each `&lt;` in an attribute creates its own string before anything can count it. */
function hasMore(text: string, character: string, max: number): boolean {
  if (text.length <= max) return false;
  let count = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) {
    count += 1;
    if (count > max) return true;
  }
  return false;
}
