import { NO_VALIDATORS } from '../../domain/cached-page.ts';
import type { SiteConfig } from '../../domain/site.ts';
import type { Tab } from '../browser/tab.ts';
import { linksIn } from '../markdown/page-links.ts';
import { DOCUMENT_LIMITS, toMarkdown } from '../markdown/to-markdown.ts';
import { fail } from '../scrape-failure.ts';
import { captureCopies, takeCopied } from './copy-capture.ts';
import { titleOfMarkdown } from './markdown-offers.ts';
import type { ReadContent } from './page-data.ts';
import type { WantedPage } from './page-input.ts';
import type { Send } from './visits.ts';

type ContentConfig = SiteConfig['content'];

/** After a click without a sequence. */
const AFTER_CLICK_MS = 1000;

/** Reads a page in a browser; null if there is nothing to read. */
export async function readInBrowser(
  tab: Tab,
  { site, url }: WantedPage,
  send: Send,
  { withLinks }: { readonly withLinks: boolean },
): Promise<ReadContent | null> {
  const { content } = site.config;
  const isCopied = content.method === 'click_copy';
  if (isCopied) await captureCopies(tab.page.context());
  const { waitUntil, gotoTimeoutMs } = content;
  await send(() => tab.goto(url, { waitUntil, timeoutSeconds: gotoTimeoutMs / 1000 }));
  await waitForContent(tab, content);
  const read = isCopied ? await readCopied(tab, url, content) : await readRendered(tab, url, content);
  if (read === null || !withLinks) return read;
  const links = await readTabLinks(tab);
  return { ...read, links };
}

/** Pages that the page links to, as it is now. */
export async function readTabLinks(tab: Tab): Promise<readonly string[]> {
  return linksIn(await tab.html(), tab.page.url(), DOCUMENT_LIMITS);
}

async function waitForContent(tab: Tab, { waitFor, selector, waitForTimeoutMs }: ContentConfig): Promise<void> {
  const awaited = waitFor ?? selector;
  if (awaited === undefined) return;
  await tab.page.locator(awaited).first().waitFor({ state: 'visible', timeout: waitForTimeoutMs });
}

async function readCopied(tab: Tab, url: string, content: ContentConfig): Promise<ReadContent | null> {
  const { selector, clickSequence, waitForTimeoutMs: timeout } = content;
  const clicks =
    clickSequence ??
    (selector === undefined
      ? fail('structure_changed', 'the site has nothing to click')
      : [{ selector, waitAfter: AFTER_CLICK_MS }]);
  await takeCopied(tab.page);
  for (const { selector: target, waitAfter } of clicks) {
    await tab.page.locator(target).first().click({ timeout });
    await tab.page.waitForTimeout(waitAfter);
  }
  const copied = (await takeCopied(tab.page))?.replaceAll('\r\n', '\n').trim() ?? '';
  if (copied === '') return null;
  const title = titleOfMarkdown(copied) ?? (await titleOf(tab));
  return { markdown: `${copied}\n`, title, url, source: 'clipboard', validators: NO_VALIDATORS, links: [] };
}

async function readRendered(tab: Tab, url: string, { selector }: ContentConfig): Promise<ReadContent | null> {
  const at = tab.page.url();
  if (selector === undefined) {
    const { markdown, title } = toMarkdown(await tab.html(), { url: at });
    return contentOf(markdown, title, url);
  }
  const found = await tab.page.locator(selector).first().innerHTML();
  const { markdown, headings } = toMarkdown(`<body>${found}</body>`, { url: at, selector: 'body' });
  const heading = headings.find(({ level }) => level === 1)?.plain ?? (await titleOf(tab)) ?? '';
  return contentOf(markdown, heading, url);
}

function contentOf(markdown: string, title: string, url: string): ReadContent | null {
  if (markdown.trim() === '') return null;
  const known = { title: title === '' ? null : title, url, validators: NO_VALIDATORS, links: [] };
  return { markdown, source: 'browser', ...known };
}

async function titleOf(tab: Tab): Promise<string | null> {
  const title = (await tab.page.title()).trim();
  return title === '' ? null : title;
}
