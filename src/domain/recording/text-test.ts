import { z } from 'zod';
import { LIMITS } from './limits.ts';
import { compilePattern, findPatternProblem } from './safe-pattern.ts';
import { maskPlaceholders } from './template.ts';

/** What is asked of a text, of an address and of a number of elements. Both engines decide by these functions. */

const text = z.string().max(LIMITS.text);

/** A regular expression whose time is bounded. */
export const PATTERN = text.min(1).superRefine((source, context) => {
  const problem = findPatternProblem(maskPlaceholders(source));
  if (problem !== null) context.addIssue({ code: 'custom', message: `the pattern ${problem}` });
});

export const TEXT_TEST = z
  .union([
    text.describe('The text contains this; case and white space do not matter.'),
    z.strictObject({ contains: text.describe('As the short form.') }),
    z.strictObject({ equals: text.describe('The text is this; case and white space do not matter.') }),
    z.strictObject({
      matches: PATTERN.describe('A regular expression, ignoring case, tried on the first 1,000 characters.'),
    }),
  ])
  .meta({ id: 'TextTest', description: 'What is asked of a text.' });
export type TextTest = z.output<typeof TEXT_TEST>;

export const URL_TEST = z
  .union([
    text.describe(
      'The whole address with `*` for any characters: `https://example.gov/parcel/*`. If it begins with `/`, path and query.',
    ),
    z.strictObject({ contains: text }),
    z.strictObject({ matches: PATTERN.describe('A regular expression.') }),
  ])
  .meta({ id: 'UrlTest', description: 'What is asked of an address.' });
export type UrlTest = z.output<typeof URL_TEST>;

const count = z.int().min(0).max(100_000);

export const COUNT_TEST = z
  .union([
    count.describe('Exactly so many.'),
    z
      .strictObject({ atLeast: count.optional(), atMost: count.optional() })
      .refine(({ atLeast, atMost }) => atLeast !== undefined || atMost !== undefined, 'needs atLeast or atMost'),
  ])
  .meta({ id: 'CountTest', description: 'What is asked of a number of elements.' });
export type CountTest = z.output<typeof COUNT_TEST>;

export function passesText(test: TextTest, seen: string): boolean {
  if (typeof test === 'string') return fold(seen).includes(fold(test));
  if ('contains' in test) return fold(seen).includes(fold(test.contains));
  if ('equals' in test) return fold(seen) === fold(test.equals);
  return compilePattern(test.matches).test(foldSpace(seen).slice(0, LIMITS.patternSubject));
}

export function passesUrl(test: UrlTest, url: string): boolean {
  if (typeof test === 'string') return matchesGlob(test, test.startsWith('/') ? pathOf(url) : url);
  if ('contains' in test) return url.includes(test.contains);
  return compilePattern(test.matches).test(url.slice(0, LIMITS.patternSubject));
}

export function passesCount(test: CountTest, seen: number): boolean {
  if (typeof test === 'number') return seen === test;
  return seen >= (test.atLeast ?? 0) && seen <= (test.atMost ?? Infinity);
}

export function describeTextTest(test: TextTest): string {
  if (typeof test === 'string') return JSON.stringify(test);
  if ('contains' in test) return JSON.stringify(test.contains);
  return 'equals' in test ? `exactly ${JSON.stringify(test.equals)}` : `/${test.matches}/`;
}

export function describeUrlTest(test: UrlTest): string {
  if (typeof test === 'string') return test;
  return 'contains' in test ? `*${test.contains}*` : `/${test.matches}/`;
}

export function describeCountTest(test: CountTest): string {
  if (typeof test === 'number') return String(test);
  const { atLeast, atMost } = test;
  if (atLeast === undefined) return `at most ${atMost}`;
  return atMost === undefined ? `at least ${atLeast}` : `${atLeast} to ${atMost}`;
}

/** Without a regular expression: stars would make one that backtracks. */
function matchesGlob(glob: string, seen: string): boolean {
  const [first = '', ...rest] = glob.split('*');
  if (!seen.startsWith(first)) return false;
  const last = rest.pop();
  if (last === undefined) return seen === first;
  let at = first.length;
  for (const part of rest) {
    const found = seen.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return seen.length - last.length >= at && seen.endsWith(last);
}

function pathOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? url : `${parsed.pathname}${parsed.search}`;
}

function fold(seen: string): string {
  return foldSpace(seen).toLowerCase();
}

function foldSpace(seen: string): string {
  return seen.replace(/\s+/g, ' ').trim();
}
