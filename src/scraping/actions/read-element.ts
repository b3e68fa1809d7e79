import type { Element } from 'domhandler';
import type { RecordField, TableColumn } from '../../domain/recording/data-steps.ts';
import { LIMITS } from '../../domain/recording/limits.ts';
import { compilePattern } from '../../domain/recording/safe-pattern.ts';
import { parseMoney } from '../extract/parse-money.ts';
import { parseDate, parseNumber } from '../extract/parse-values.ts';
import { attributeNamed, LINK, type Place, TABLE } from '../extract/readings.ts';
import { visibleLines, visibleText } from '../extract/visible-text.ts';
import type { WholePage } from '../extract/whole-page.ts';
import { fail } from '../scrape-failure.ts';

/** How a value is read from an element, by the helpers that scrapers have. Null where there is nothing to read. */
type Read = 'text' | 'attribute' | 'value' | 'html' | 'number' | 'money' | 'date';

export interface ReadOptions {
  readonly read: Read;
  readonly attribute?: string | undefined;
  /** Makes an absolute address of an attribute. */
  readonly absolute?: boolean | undefined;
  /** Of which the first group, or the whole match, is what is read. */
  readonly pattern?: string | undefined;
  /** A list of its lines, or the lines joined by this text. */
  readonly lines?: true | string | undefined;
}

export function readElement(page: WholePage, element: Element, options: ReadOptions, described: string): unknown {
  const { read, pattern } = options;
  switch (read) {
    case 'text':
      if (options.lines !== undefined) return readLines(element, options.lines);
      return matched(visibleText(element), pattern);
    case 'attribute':
      return matched(attributeOf(page, element, options, described), pattern);
    case 'value':
      return matched(sentValue(element), pattern);
    case 'html':
      return page.$.html(element);
    case 'number':
      return parsed(element, pattern, described, 'a number', parseNumber);
    case 'money':
      return parsed(element, pattern, described, 'an amount of money', parseMoney);
    case 'date':
      return parsed(element, pattern, described, 'a date', parseDate);
  }
}

function readLines(element: Element, lines: true | string): string | readonly string[] | null {
  const found = visibleLines(element);
  if (found.length === 0) return null;
  return lines === true ? found : found.join(lines);
}

/** What a form control was sent with; a browser is asked what it holds now. */
export function sentValue({ name, attribs, children }: Element): string | null {
  if (name === 'textarea') return children.map((child) => ('data' in child ? child.data : '')).join('');
  return attribs['value'] ?? null;
}

function attributeOf(
  page: WholePage,
  element: Element,
  { attribute = '', absolute }: ReadOptions,
  described: string,
): string | null {
  const isLink = absolute === true && attribute.toLowerCase() === 'href';
  const place = placeOn(page, described);
  if (isLink) return LINK.read(element, described, place);
  const text = attributeNamed(attribute).read(element, described, place);
  return text === null || absolute !== true ? text : (URL.parse(text, page.url)?.href ?? text);
}

function parsed<T>(
  element: Element,
  pattern: string | undefined,
  described: string,
  what: string,
  parse: (text: string) => T | null,
): T | null {
  const text = matched(visibleText(element), pattern);
  if (text === null) return null;
  return parse(text) ?? fail('structure_changed', `${described}: ${quote(text)} is not ${what}`);
}

/** Null for an empty text, and for one that the pattern does not match. */
function matched(text: string | null, pattern: string | undefined): string | null {
  if (text === null || text === '') return null;
  if (pattern === undefined) return text;
  const found = compilePattern(pattern, '').exec(text.slice(0, LIMITS.patternSubject));
  return found === null ? null : (found[1] ?? found[0]);
}

/** The rows of a table as records: all columns by their headers, or those that were asked for. */
export function readTableRecords(
  page: WholePage,
  element: Element,
  columns: Readonly<Record<string, TableColumn>> | undefined,
  described: string,
): readonly Record<string, unknown>[] | null {
  const table = TABLE.read(element, described, placeOn(page, described));
  if (table === null) return null;
  if (columns === undefined) return table.rows;
  const wanted = Object.entries(columns).map(([name, column]) => {
    const isThere = table.headers.includes(column.header.replace(/\s+/g, ' ').trim());
    return { name, column, cells: column.optional === true && !isThere ? null : table.column(column.header) };
  });
  return table.rows.map((_, row) =>
    Object.fromEntries(
      wanted.map(({ name, column, cells }) => [name, readCell(cells?.[row] ?? '', column, described)]),
    ),
  );
}

const CELLS = { text: (text: string) => text, number: parseNumber, money: parseMoney, date: parseDate } as const;

function readCell(text: string, { read = 'text', optional, header }: TableColumn, described: string): unknown {
  if (text === '' && read !== 'text') {
    return optional === true
      ? null
      : fail('structure_changed', `${described}: a cell of the column "${header}" is empty`);
  }
  if (text === '' && optional === true) return null;
  return (
    CELLS[read](text) ??
    fail('structure_changed', `${described}: ${quote(text)} in the column "${header}" is not a ${read}`)
  );
}

/** One record of a list. `find`: the first match of a field in the row. */
export function readRecord(
  page: WholePage,
  row: Element,
  fields: Readonly<Record<string, RecordField>>,
  find: (field: RecordField) => Element | null,
): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const element = field.selectors === undefined ? row : find(field);
    const { read = 'text', attribute, pattern, optional } = field;
    const value = element === null ? null : readElement(page, element, { read, attribute, pattern }, name);
    if (value === null && optional !== true)
      fail('structure_changed', `nothing was read for ${name} in one of the rows`);
    record[name] = value;
  }
  return record;
}

function placeOn(page: WholePage, described: string): Place {
  return { document: page.document, url: page.url, locate: () => described, absent: (what) => page.missing(what) };
}

function quote(text: string): string {
  return JSON.stringify(text.length <= 60 ? text : `${text.slice(0, 59)}…`);
}
