/** Our flags are those of `bin/trawl`; the loop runs as `node` runs it. */
const OURS = ['--max-semi-space-size=8'];

export const SUBJECTS: Readonly<Record<string, { file: string; flags: readonly string[]; workers: number }>> = {
  trawl: { file: 'docs/trawl.ts', flags: OURS, workers: 1 },
  'trawl-2': { file: 'docs/trawl.ts', flags: OURS, workers: 2 },
  hand: { file: 'docs/hand.ts', flags: [], workers: 1 },
};

export const DOCS_SUBJECTS = Object.keys(SUBJECTS);
