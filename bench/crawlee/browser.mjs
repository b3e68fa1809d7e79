import { PlaywrightCrawler } from '@crawlee/playwright';
import { keepProfile } from '../browser/keep-profile.ts';
import { agreedCookie, profileUrl } from '../browser/subject.ts';
import { runSubject } from '../http/subject.ts';
import { checkFinished } from './keep-page.mjs';

/** Crawlee as its guide shows it, with default settings except for the program and a separate context for each item. */
let crawler = null;

await runSubject(
  async (apns, { url, folder, chromium }) => {
    crawler ??= new PlaywrightCrawler({
      launchContext: {
        useIncognitoPages: true,
        launchOptions: { executablePath: chromium.path, chromiumSandbox: chromium.sandbox },
      },
      preNavigationHooks: [async ({ page }) => page.context().addCookies([agreedCookie(url)])],
      requestHandler: async ({ page, request }) => {
        await page.waitForSelector('#profile');
        const { apn } = request.userData;
        keepProfile(await page.content(), { apn, url: request.url, folder, scraper: 'crawlee' });
      },
    });
    const requests = apns.map((apn) => ({ url: profileUrl(url, apn), userData: { apn } }));
    checkFinished(await crawler.run(requests), apns.length);
  },
  async () => crawler?.teardown(),
);
