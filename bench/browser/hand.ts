import { type Browser, chromium } from 'playwright-core';
import { runSubject } from '../http/subject.ts';
import { keepProfile } from './keep-profile.ts';
import { agreedCookie, type BrowserTask, profileUrl } from './subject.ts';

/** The pool that one would write by hand in an hour: one browser, and a context for each item. It has no limits or rules. */
let browser: Browser | null = null;

await runSubject<BrowserTask>(
  async (apns, task) => {
    const { path: executablePath, sandbox: chromiumSandbox } = task.chromium;
    browser ??= await chromium.launch({ executablePath, chromiumSandbox });
    const held = browser;
    const left = apns.values();
    const scrapeOn = async () => {
      for (const apn of left) await scrape(held, apn, task);
    };
    await Promise.all(Array.from({ length: task.concurrency }, scrapeOn));
  },
  async () => browser?.close(),
);

async function scrape(held: Browser, apn: string, { url: site, folder }: BrowserTask): Promise<void> {
  const url = profileUrl(site, apn);
  const context = await held.newContext();
  try {
    await context.addCookies([agreedCookie(site)]);
    const page = await context.newPage();
    await page.goto(url, { waitUntil: 'domcontentloaded' });
    await page.waitForSelector('#profile');
    keepProfile(await page.content(), { apn, url, folder, scraper: 'by-hand' });
  } finally {
    await context.close();
  }
}
