import type { GeoTarget } from './proxy-policy.ts';

/** Language and time zone of a place, as the browser of a person there has them. */
export interface VisitorPlace {
  readonly locale: string;
  readonly timezone: string;
}

/** The time zone where most people of the country live, and the language that most of them read. */
const COUNTRIES: Readonly<Record<string, readonly [locale: string, timezone: string]>> = {
  ar: ['es-AR', 'America/Argentina/Buenos_Aires'],
  at: ['de-AT', 'Europe/Vienna'],
  au: ['en-AU', 'Australia/Sydney'],
  be: ['nl-BE', 'Europe/Brussels'],
  br: ['pt-BR', 'America/Sao_Paulo'],
  ca: ['en-CA', 'America/Toronto'],
  ch: ['de-CH', 'Europe/Zurich'],
  cl: ['es-CL', 'America/Santiago'],
  co: ['es-CO', 'America/Bogota'],
  cz: ['cs-CZ', 'Europe/Prague'],
  de: ['de-DE', 'Europe/Berlin'],
  dk: ['da-DK', 'Europe/Copenhagen'],
  es: ['es-ES', 'Europe/Madrid'],
  fi: ['fi-FI', 'Europe/Helsinki'],
  fr: ['fr-FR', 'Europe/Paris'],
  gb: ['en-GB', 'Europe/London'],
  gr: ['el-GR', 'Europe/Athens'],
  hk: ['zh-HK', 'Asia/Hong_Kong'],
  hu: ['hu-HU', 'Europe/Budapest'],
  ie: ['en-IE', 'Europe/Dublin'],
  il: ['he-IL', 'Asia/Jerusalem'],
  in: ['en-IN', 'Asia/Kolkata'],
  it: ['it-IT', 'Europe/Rome'],
  jp: ['ja-JP', 'Asia/Tokyo'],
  kr: ['ko-KR', 'Asia/Seoul'],
  mx: ['es-MX', 'America/Mexico_City'],
  nl: ['nl-NL', 'Europe/Amsterdam'],
  no: ['nb-NO', 'Europe/Oslo'],
  nz: ['en-NZ', 'Pacific/Auckland'],
  pl: ['pl-PL', 'Europe/Warsaw'],
  pt: ['pt-PT', 'Europe/Lisbon'],
  ro: ['ro-RO', 'Europe/Bucharest'],
  se: ['sv-SE', 'Europe/Stockholm'],
  sg: ['en-SG', 'Asia/Singapore'],
  tr: ['tr-TR', 'Europe/Istanbul'],
  tw: ['zh-TW', 'Asia/Taipei'],
  ua: ['uk-UA', 'Europe/Kyiv'],
  us: ['en-US', 'America/New_York'],
  za: ['en-ZA', 'Africa/Johannesburg'],
};

/** The time zone of most people in each state; states on Eastern time are not listed. */
const STATES: readonly (readonly [timezone: string, states: string])[] = [
  ['America/Chicago', 'al ar il ia ks la mn ms mo ne nd ok sd tn tx wi'],
  ['America/Denver', 'co id mt nm ut wy'],
  ['America/Phoenix', 'az'],
  ['America/Los_Angeles', 'ca nv or wa'],
  ['America/Anchorage', 'ak'],
  ['Pacific/Honolulu', 'hi'],
];

/** Null if nothing is known about it: a wrong guess reveals more than none. */
export function visitorPlace({ country, state }: GeoTarget): VisitorPlace | null {
  const found = COUNTRIES[country.toLowerCase()];
  if (found === undefined) return null;
  const [locale, timezone] = found;
  if (country.toLowerCase() !== 'us' || state === undefined) return { locale, timezone };
  const wanted = state.toLowerCase();
  return { locale, timezone: STATES.find(([, states]) => states.split(' ').includes(wanted))?.[0] ?? timezone };
}

/** Languages that a browser of this locale asks for, best first: `de-DE` also asks for German and English. */
export function languagesFor(locale: string): readonly string[] {
  const [language = locale] = locale.split('-');
  return [...new Set([locale, language, ...(language === 'en' ? [] : ['en-US', 'en'])])];
}
