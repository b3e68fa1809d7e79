import { contentOf, roughText, titleOf } from './rough-text.ts';

/**
 * A scraper's knowledge of how its site reports problems. Texts are compared regardless of case. A kind that is given,
 * even as an empty list, replaces our guesses of that kind.
 */
export interface Signs {
  readonly blocked?: readonly (string | RegExp)[];
  readonly maintenance?: readonly (string | RegExp)[];
  readonly nothingFound?: readonly (string | RegExp)[];
}

/** Null for a kind that the author does not give. */
export interface CompiledSigns {
  readonly blocked: readonly RegExp[] | null;
  readonly maintenance: readonly RegExp[] | null;
  /**
   * When a notice of maintenance on a page without a form counts, unless it is the title: `at-once`, or only `if-missing`, when
   * something is not on the page. The latter is for visitors that look for an element on every page.
   */
  readonly notices: 'at-once' | 'if-missing';
  readonly nothingFound: readonly RegExp[] | null;
}

export function compileSigns(
  { blocked, maintenance, nothingFound }: Signs,
  notices: CompiledSigns['notices'] = 'at-once',
): CompiledSigns {
  return {
    notices,
    blocked: blocked === undefined ? null : compile(blocked),
    maintenance: maintenance === undefined ? null : compile(maintenance),
    nothingFound: nothingFound === undefined ? null : compile(nothingFound),
  };
}

/** The signs, with those of one call replacing them kind by kind. */
export function withSigns(signs: CompiledSigns, own: Signs | undefined): CompiledSigns {
  if (own === undefined) return signs;
  const { blocked, maintenance, nothingFound } = compileSigns(own);
  return {
    notices: signs.notices,
    blocked: blocked ?? signs.blocked,
    maintenance: maintenance ?? signs.maintenance,
    nothingFound: nothingFound ?? signs.nothingFound,
  };
}

function compile(signs: readonly (string | RegExp)[]): RegExp[] {
  return signs.map((sign) => {
    // A regular expression with state would only find its text on every second page.
    if (typeof sign !== 'string') return new RegExp(sign.source, sign.flags.replaceAll(/[gy]/g, ''));
    return new RegExp(sign.trim().split(/\s+/).map(RegExp.escape).join('\\s+'), 'i');
  });
}

/** Block pages are short. What is further down in a long page belongs to the site. */
export const SCANNED_LENGTH = 64 * 1024;
/** Under this, a page may be nothing but a challenge: Imperva's are 1 to 6 kB. */
const SMALL_PAGE = 8 * 1024;
/** Including all its scripts. */
const LONGEST_CHALLENGE = 4 * SCANNED_LENGTH;
/** A challenge has a sentence or two, besides all its scripts. */
const LITTLE_TEXT = 1500;
const HARDLY_ANY_TEXT = 600;

/**
 * Who blocked us, if this is a block page. Some signs appear nowhere else. Some also appear in the scripts of good
 * pages, and count only if there is little else to see; the weakest are on every good page served through Imperva or
 * Cloudflare, and count only on a small one. `title` is the one that a browser shows; otherwise the source's is used.
 * Without `isGuessed` only signs that appear nowhere else count.
 */
export function blockerOf(
  page: string,
  { title: shownTitle, isGuessed }: { readonly title: string | null; readonly isGuessed: boolean },
): string | null {
  const source = page.length > SCANNED_LENGTH ? page.slice(0, SCANNED_LENGTH) : page;
  const title = shownTitle ?? titleOf(source);
  for (const { who, title: pattern, and } of BY_TITLE) {
    if (pattern.test(title) && (and === null || and.test(source))) return who;
  }
  // Measured: one pattern for all takes half the time of looking for each of seven, and five times that of looking for two.
  const isSuspect = isGuessed ? ANY_MARKER.test(source) : CERTAIN_WORDS.some((word) => source.includes(word));
  for (const { who, marker, and } of isSuspect ? CERTAIN : []) {
    if (source.includes(marker) && (and === null || and.test(source))) return who;
  }
  if (!isGuessed) return null;
  for (const { who, marker } of isSuspect ? WHERE_LITTLE_ELSE_IS : []) {
    if (source.includes(marker) && page.length < LONGEST_CHALLENGE && roughText(page).length < LITTLE_TEXT) return who;
  }
  if (page.length >= SMALL_PAGE) return null;
  for (const { who, marker } of WEAK) {
    if (source.includes(marker) && roughText(page).length < HARDLY_ANY_TEXT) return who;
  }
  return null;
}

const BY_TITLE = [
  { who: 'Cloudflare', title: /^Just a moment/i, and: /_cf_chl_opt|\/cdn-cgi\/challenge-platform\// },
  { who: 'Cloudflare', title: /^Attention Required! \| Cloudflare/i, and: null },
  // The sign of the number is written as an entity.
  { who: 'Akamai', title: /^Access Denied/i, and: /Reference(?:\s|&#32;|&nbsp;)*(?:#|&#35;)/ },
  { who: 'Imperva', title: /^Pardon Our Interruption/i, and: null },
];

const CERTAIN = [
  { who: 'Imperva', marker: 'Incapsula incident ID', and: null },
  { who: 'Imperva', marker: '/_Incapsula_Resource?SWUDNSAI=', and: /id="?main-iframe\b/ },
  { who: 'AWS WAF', marker: 'awsWafCookieDomainList', and: /gokuProps/ },
];

/**
 * Each of those markers contains one of these. V8 looks for the first letter and compares from there: a page of 36 KB takes
 * 0.8 µs for each of them, and 8.5 for a word that begins with an `a`.
 */
const CERTAIN_WORDS = ['Incapsula', 'WafCookieDomainList'];

const WHERE_LITTLE_ELSE_IS = [
  { who: 'Cloudflare', marker: '_cf_chl_opt' },
  { who: 'AWS WAF', marker: 'awsWafCookieDomainList' },
  { who: 'PerimeterX', marker: 'px-captcha' },
  { who: 'DataDome', marker: 'captcha-delivery.com' },
  { who: 'F5', marker: 'The requested URL was rejected' },
];

const MARKERS = new Set([...CERTAIN, ...WHERE_LITTLE_ELSE_IS].map(({ marker }) => marker));
const ANY_MARKER = new RegExp([...MARKERS].map(RegExp.escape).join('|'));

const WEAK = [
  { who: 'Imperva', marker: '_Incapsula_Resource' },
  { who: 'Cloudflare', marker: '/cdn-cgi/challenge-platform/' },
];

const ADJECTIVE =
  '(?:scheduled|routine|planned|regular|system|systems|site|website|web|server|database|emergency|essential|a|some|our)';
/** Matches the present tense only: good pages announce maintenance on Sunday. */
const MAINTENANCE = new RegExp(
  [
    `\\b(?:under|undergoing|down for|offline for|closed for|unavailable (?:due to|for|during)|conducting|performing|in) (?:${ADJECTIVE} ){0,3}maintenance(?! district)\\b`,
    `\\b(?:currently|temporarily) (?:unavailable|down|offline)[^.!?]{0,40}\\bmaintenance\\b`,
    `\\bmaintenance (?:is )?(?:in progress|underway|mode)\\b`,
  ].join('|'),
  'i',
);

/** The sentence, if it is anywhere in the page. For a page that already counts as bad. */
export function maintenanceIn(page: string): string | null {
  const source = page.slice(0, SCANNED_LENGTH);
  if (!/maintenance/i.test(source)) return null;
  const text = roughText(source);
  return sentence(MAINTENANCE.exec(text), text) ?? (MAINTENANCE.test(titleOf(source)) ? titleOf(source) : null);
}

/**
 * The sentence, if a page with a good status is about it: in its title, its heading, or with hardly anything else. Only
 * a title is certain: in a heading or a footer it may be about part of the site.
 */
export function maintenanceInstead(
  page: string,
  shownTitle: string | null = null,
): { readonly sentence: string; readonly isTitle: boolean } | null {
  const start = page.length > SCANNED_LENGTH ? page.slice(0, SCANNED_LENGTH) : page;
  for (const name of ['title', 'h1']) {
    const heading = name === 'title' && shownTitle !== null ? shownTitle : contentOf(start, name);
    // `Road Maintenance District` is also a heading.
    if (heading !== null && (MAINTENANCE.test(heading) || isOnlyAbout(heading))) {
      return { sentence: heading, isTitle: name === 'title' };
    }
  }
  if (page.length >= SMALL_PAGE) return null;
  const found = maintenanceIn(page);
  return found !== null && roughText(page).length < HARDLY_ANY_TEXT ? { sentence: found, isTitle: false } : null;
}

function isOnlyAbout(heading: string): boolean {
  return (
    heading.length < 60 &&
    /^(?:site |system |scheduled |website |we are )*(?:down for |under )?maintenance$/i.test(heading)
  );
}

const STALE =
  /Validation of viewstate MAC failed|The state information is invalid for this page|Invalid postback or callback argument|your session (?:has |is )?(?:expired|timed out)/i;

/** The session, or the page's memory of it, is too old: begin again. */
export function staleStateIn(page: string): string | null {
  return STALE.exec(page.slice(0, SCANNED_LENGTH))?.[0] ?? null;
}

const THING = '(?:record|result|match|matche|parcel|propert|bill|account|item)(?:s|ies|y)?';
const NOTHING_FOUND = new RegExp(
  [
    `\\bno (?:matching |such )?${THING} (?:(?:were|was|could be) )?(?:found|to display|match|exist|available|returned)`,
    `\\bthere (?:are|were|is|was) no (?:matching )?${THING}\\b`,
    `\\b(?:produced|returned|found|yielded) (?:no|0|zero) (?:matching )?${THING}\\b`,
    `\\bdid not (?:find|match|return|produce|yield) any\\b`,
    `\\b(?:parcel|property|account|record)(?: number| id| no\\.?| #)? (?:(?:was|is|could|can) )?(?:not (?:be )?found|no longer active|does not exist)`,
    `\\b0 (?:records|results|matches) found`,
    `\\bno bills\\b`,
  ].join('|'),
  'i',
);

/**
 * Includes menu, search form and footer. A page that says more, or has a table with some rows, has something to show.
 */
const LONGEST_NOTHING_FOUND = 1500;
const MOST_ROWS_OF_NOTHING = 5;

/**
 * The sentence by which a page says that nothing was found. Good pages have it too, above an empty table: taking it there
 * for the reason why a field is missing would hide, for every item, that the site has changed.
 */
export function nothingFoundIn(page: string): { readonly sentence: string; readonly isAllItSays: boolean } | null {
  const text = roughText(page.length > 4 * SCANNED_LENGTH ? page.slice(0, 4 * SCANNED_LENGTH) : page);
  const found = sentence(NOTHING_FOUND.exec(text), text);
  return found === null
    ? null
    : { sentence: found, isAllItSays: text.length <= LONGEST_NOTHING_FOUND && rowsIn(page) <= MOST_ROWS_OF_NOTHING };
}

function rowsIn(page: string): number {
  return page.match(/<tr[\s>]/gi)?.length ?? 0;
}

const SHOWN_AROUND = 40;

/** A match with the words around it in its sentence, for a person to read. */
function sentence(match: RegExpExecArray | null, text: string): string | null {
  if (match === null) return null;
  const end = match.index + match[0].length;
  const before =
    text
      .slice(Math.max(0, match.index - SHOWN_AROUND), match.index)
      .split(/[.!?] /)
      .at(-1) ?? '';
  const after = text.slice(end, end + SHOWN_AROUND).split(/[.!?](?: |$)/)[0] ?? '';
  // Half a word is left out.
  const from = before.length < SHOWN_AROUND ? before : before.replace(/^\S* /, '');
  const to = after.length < SHOWN_AROUND ? after : after.replace(/ \S*$/, '');
  return `${from}${match[0]}${to}`.trim();
}
