import { NodeHtmlMarkdown } from 'node-html-markdown';
import TurndownService from 'turndown';
import { gfm } from 'turndown-plugin-gfm';

/** Each as its users would set it up for documentation: tables, fenced code, no scripts. They keep the whole page. */
export function openTurndown() {
  const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced' });
  service.use(gfm);
  service.remove(['script', 'style', 'noscript', 'title']);
  return (html) => service.turndown(html);
}

export function openNodeHtmlMarkdown() {
  const service = new NodeHtmlMarkdown({ ignore: ['script', 'style', 'noscript', 'title', 'head'] });
  return (html) => service.translate(html);
}
