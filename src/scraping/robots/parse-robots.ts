import library from 'robots-parser';
import { crawlDelayMs, ROBOTS_TOKEN } from '../../domain/robots.ts';

/** Its declarations call the function `default`; it is the module itself. */
const robotsParser = library as unknown as typeof library.default;

/** The rules of a robots.txt that apply to us. */
export interface RobotsRules {
  judge(url: string): RobotsVerdict;
  /** 0 for none. */
  readonly crawlDelayMs: number;
  /** Approximate number of characters kept of the file. */
  readonly weight: number;
}

type RobotsVerdict =
  | { readonly kind: 'allowed' }
  /** `line`: 1-based number of the line that says so; null if it was not looked up. */
  | { readonly kind: 'disallowed'; readonly line: number | null };

const ALLOWED: RobotsVerdict = { kind: 'allowed' };

/**
 * Most steps that one address may take to be judged, about a tenth of a second. A file with ten thousand rules stays far below;
 * one that is made to keep us busy does not, and what cannot be judged is not requested.
 */
const MAX_STEPS = 20_000_000;

/** Parses a site's robots.txt. Whatever is in it, this ends soon and never throws. */
export function parseRobots(text: string, origin: string): RobotsRules {
  const { lines, rules, wildcards, weight } = ownLines(text);
  const robots = robotsParser(`${origin}/robots.txt`, lines.join('\n'));
  return {
    judge(url) {
      const address = plainEscapes(url);
      // The library looks at each rule, and at those with wildcards once for each character of the address.
      if ((rules + wildcards) * (address.length - origin.length) > MAX_STEPS) return { kind: 'disallowed', line: null };
      if (robots.isAllowed(address, ROBOTS_TOKEN) !== false) return ALLOWED;
      return { kind: 'disallowed', line: robots.getMatchingLineNumber(address, ROBOTS_TOKEN) };
    },
    crawlDelayMs: crawlDelayMs(robots.getCrawlDelay(ROBOTS_TOKEN)),
    weight,
  };
}

interface OwnLines {
  /** As many as the file has, so that their numbers stay the same. */
  readonly lines: readonly string[];
  readonly rules: number;
  /** Characters in rules with wildcards. */
  readonly wildcards: number;
  readonly weight: number;
}

/**
 * The file without what does not concern us. The library keeps each rule once for each name of its group, so that a
 * hostile file of 500 KiB would become hundreds of millions of rules; here at most two names are left. It also treats
 * unknown lines as the end of a group's names, which RFC 9309 forbids.
 */
function ownLines(text: string): OwnLines {
  const own = { rules: 0, wildcards: 0, weight: 0 };
  const names = new Set<string>();
  let isHead = false;
  const lines = text.split(/\r\n|\r|\n/).map((line) => {
    const rule = readLine(line);
    if (rule === null) return '';
    const { key, value } = rule;
    if (key === 'user-agent') {
      if (!isHead) names.clear();
      isHead = true;
      const name = agentName(value);
      if (name === null || names.has(name)) return '';
      names.add(name);
      return `user-agent: ${name}`;
    }
    isHead = false;
    if (names.size === 0) return '';
    const pattern = key === 'crawl-delay' ? value : plainEscapes(value).replace(/\*+/g, '*');
    own.rules += 1;
    own.weight += pattern.length;
    if (pattern.includes('*')) own.wildcards += pattern.length;
    return `${key}: ${pattern}`;
  });
  return { lines, ...own };
}

const KEYS: ReadonlySet<string> = new Set(['user-agent', 'allow', 'disallow', 'crawl-delay']);

/** Null for a line that does not concern us. */
function readLine(line: string): { readonly key: string; readonly value: string } | null {
  const comment = line.indexOf('#');
  const text = comment < 0 ? line : line.slice(0, comment);
  const colon = text.indexOf(':');
  if (colon < 0) return null;
  const key = text.slice(0, colon).trim().toLowerCase();
  return KEYS.has(key) ? { key, value: text.slice(colon + 1).trim() } : null;
}

/** Null for another name. `Trawl/1.0` is also us. */
function agentName(value: string): string | null {
  if (value.startsWith('*')) return '*';
  const [token = ''] = /^[a-z_-]*/i.exec(value) ?? [];
  return token.toLowerCase() === ROBOTS_TOKEN ? ROBOTS_TOKEN : null;
}

/** `%7e` as `~`: rules and addresses are compared as texts, and a character that needs no escape may have one in either. */
function plainEscapes(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(/%[0-9a-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[a-z0-9._~-]/i.test(character) ? character : escaped.toUpperCase();
  });
}
