import type { DiscoveryAnswer, SiteAnswer } from '../../contract/site-answers.ts';
import { formatCount, formatItems, printable, STEERING } from '../format.ts';

/** The findings about a site, one per line. */
export function findingsText(found: DiscoveryAnswer): string {
  const { content, markdown, sitemaps, llms_txt: llms } = found;
  const words = `${formatCount(content.words)} words`;
  const offers = [
    ...(markdown.suffix ? ['at <url>.md'] : []),
    ...(markdown.accept ? ['for Accept: text/markdown'] : []),
  ];
  const maps = sitemaps.map(({ url, kind, urls }) => {
    return `${printable(url)} (${formatItems(urls, kind === 'index' ? 'sitemap' : 'page')})`;
  });
  return [
    `Page:      ${printable(found.url)}${found.title === null ? '' : `, "${printable(found.title)}"`}`,
    content.in_html
      ? `Content:   in the HTML, ${content.selector === null ? 'in no usual place' : `at ${content.selector}`} (${words})`
      : `Content:   not in the HTML (${words}): it needs a browser`,
    `Markdown:  ${offers.length === 0 ? 'not offered' : offers.join(' and ')}`,
    `Sitemaps:  ${maps.length === 0 ? 'none found' : maps.join(', ')}`,
    `llms.txt:  ${llms === null ? 'none' : `${printable(llms.url)} (${formatItems(llms.urls, 'link')})`}`,
  ].join('\n');
}

export function siteText({ site_id, config, source, changed_at }: SiteAnswer): string {
  const from = source === 'file' ? 'from the file of sites' : 'set through the API';
  return `${site_id}, ${from}, changed at ${changed_at}\n${jsonText(config)}`;
}

/** Indented JSON, in which nothing from a server can control a terminal. */
export function jsonText(value: unknown): string {
  const lines = JSON.stringify(value, null, 2).split('\n');
  return lines.map((line) => line.replaceAll(STEERING, ' ')).join('\n');
}

/** Why a configuration does not fit a page; empty if it does. */
export function misfits({ config }: Pick<SiteAnswer, 'config'>, found: DiscoveryAnswer): readonly string[] {
  const { selector, markdown, method } = config.content;
  const mode = config.content.mode ?? config.mode;
  const hasMarkdown =
    (found.markdown.suffix && (markdown === 'suffix' || markdown === 'auto')) ||
    (found.markdown.accept && (markdown === 'accept' || markdown === 'auto'));
  const isOverHttp = mode === 'fetch' && method === 'inner_html' && !hasMarkdown;
  return [
    ...(isOverHttp && selector !== undefined && found.selector_words === 0
      ? [`content.selector: the HTML has nothing at ${printable(selector)}`]
      : []),
    ...(isOverHttp && selector === undefined && !found.content.in_html
      ? ['mode: the content is not in the HTML; use browser or auto']
      : []),
    ...(markdown === 'suffix' && !found.markdown.suffix ? ['content.markdown: there is nothing at <url>.md'] : []),
    ...(markdown === 'accept' && !found.markdown.accept
      ? ['content.markdown: the site sends no Markdown for Accept: text/markdown']
      : []),
  ];
}
