import type { CaseBrowsers } from '../../src/scraping/fixtures/case-browsers.ts';

/** For scrapers without one: a case that asks for a browser is a bug in the test. */
export const NO_BROWSERS: CaseBrowsers = {
  open: () => Promise.reject(new Error('this test has no browser')),
  close: async () => {},
};
