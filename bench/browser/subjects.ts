/** Our flags are those of `bin/trawl`; the others run as `node` runs them. */
const OURS = ['--max-semi-space-size=8'];

interface BrowserSubject {
  readonly file: string;
  readonly flags: readonly string[];
  readonly isolation: 'context' | 'page';
}

export const SUBJECTS: Readonly<Record<string, BrowserSubject>> = {
  trawl: { file: 'browser/trawl.ts', flags: OURS, isolation: 'context' },
  'trawl-page': { file: 'browser/trawl.ts', flags: OURS, isolation: 'page' },
  hand: { file: 'browser/hand.ts', flags: [], isolation: 'context' },
  crawlee: { file: 'crawlee/browser.mjs', flags: [], isolation: 'context' },
};

export const BROWSER_SUBJECTS = Object.keys(SUBJECTS);
