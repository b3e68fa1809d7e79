/** Our flags are those of `bin/trawl`; the others run as `node` runs them. */
const OURS = ['--max-semi-space-size=8'];

export const SUBJECTS: Readonly<Record<string, { file: string; flags: readonly string[]; workers: number }>> = {
  trawl: { file: 'http/trawl.ts', flags: OURS, workers: 1 },
  'trawl-2': { file: 'http/trawl.ts', flags: OURS, workers: 2 },
  hand: { file: 'http/hand.ts', flags: [], workers: 1 },
  'crawlee-default': { file: 'crawlee/default.mjs', flags: [], workers: 1 },
  'crawlee-tuned': { file: 'crawlee/tuned.mjs', flags: [], workers: 1 },
};

export const HTTP_SUBJECTS = Object.keys(SUBJECTS);
