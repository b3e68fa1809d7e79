import type { Element } from 'domhandler';
import { fail, type ScrapeFailure } from '../scrape-failure.ts';
import { resolveBaseUrl } from './base-url.ts';
import { readKeyValues } from './key-values.ts';
import type { PageDocument } from './page-document.ts';
import { parseMoney } from './parse-money.ts';
import { parseDate, parseNumber, parsePercent } from './parse-values.ts';
import { readTable, type Table } from './table.ts';
import { visibleLines, visibleText } from './visible-text.ts';

/** One way to read a value from an element. */
export interface Reading<T> {
  /** What is read, for `… of #selector is not on the page`. */
  readonly what: string;
  /** Null if there is nothing to read. A value that cannot be read is a failure. */
  read(element: Element, selector: string, place: Place): T | null;
}

/** The page that the element is on. */
export interface Place {
  readonly document: PageDocument;
  readonly url: string;
  /** What to call an element in a message. */
  locate(selector: string): string;
  absent(what: string): ScrapeFailure;
}

export const TEXT: Reading<string> = {
  what: 'the text',
  read: (element) => visibleText(element) || null,
};

export const LINES: Reading<string[]> = {
  what: 'the text',
  read(element) {
    const lines = visibleLines(element);
    return lines.length === 0 ? null : lines;
  },
};

export const NUMBER = valueIn('a number', parseNumber);
export const MONEY = valueIn('an amount of money', parseMoney);
export const PERCENT = valueIn('a percentage', parsePercent);
export const DATE = valueIn('a date', parseDate);

export const LINK: Reading<string> = {
  what: 'the attribute href',
  read(element, selector, { document, url, locate }) {
    const href = element.attribs['href']?.trim();
    if (!href) return null;
    const absolute = URL.parse(href, resolveBaseUrl(document, url));
    if (absolute !== null && /^https?:$/.test(absolute.protocol)) return absolute.href;
    return fail('structure_changed', `${locate(selector)}: ${quote(href)} is not a URL`);
  },
};

export const TABLE: Reading<Table> = {
  what: 'a table',
  read: (element, selector, { locate, absent }) =>
    readTable(element, locate(selector), (header) => absent(`table ${selector}: column "${header}"`)),
};

export const KEY_VALUES: Reading<Record<string, string>> = {
  what: 'labels and values',
  read: (element) => readKeyValues(element),
};

export function attributeNamed(name: string): Reading<string> {
  return {
    what: `the attribute ${name}`,
    read: (element) => element.attribs[name.toLowerCase()]?.trim() || null,
  };
}

function valueIn<T>(what: string, parse: (text: string) => T | null): Reading<T> {
  return {
    what: 'the text',
    read(element, selector, { locate }) {
      const text = visibleText(element);
      if (text === '') return null;
      return parse(text) ?? fail('structure_changed', `${locate(selector)}: ${quote(text)} is not ${what}`);
    },
  };
}

function quote(text: string): string {
  return JSON.stringify(text.length <= 60 ? text : `${text.slice(0, 59)}…`);
}
