import type { CheerioAPI } from 'cheerio';
import type { Element } from 'domhandler';
import { failure } from '../../domain/failure.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import { findAll, findFirst } from './find.ts';
import { type OptionalReader, optionalReader } from './optional-reader.ts';
import type { PageDocument } from './page-document.ts';
import {
  attributeNamed,
  DATE,
  KEY_VALUES,
  LINES,
  LINK,
  MONEY,
  NUMBER,
  PERCENT,
  type Place,
  type Reading,
  TABLE,
  TEXT,
} from './readings.ts';
import { SELECTOR_WATCH } from './selector-watch.ts';
import type { Table } from './table.ts';
import { visibleText } from './visible-text.ts';

/** Selects the reader's own element, where a selector is required. */
const ITSELF = ':scope';

/**
 * Reads values from a page by CSS selectors. A missing or empty value ends the item: silently empty fields are the most
 * common way for a scraper to go wrong. Use `optional` if empty is normal. If a selector matches more than once, the
 * first match counts; without a selector a reader reads its own element.
 */
export abstract class Reader {
  /** The parsed page, for the readers themselves. */
  abstract get document(): PageDocument;
  /** URL of the page, which links are relative to. */
  abstract readonly url: string;
  /** What it means that something is not on the page; `what` is a selector, or `the text of #selector`. */
  protected abstract absent(what: string): ScrapeFailure;

  /** For everything the readers below do not do. Change nothing through it: elements are found by an index of ids. */
  abstract get $(): CheerioAPI;

  /** The same readers, but null where these fail because an element or a value is missing. */
  get optional(): OptionalReader {
    return optionalReader((selector) => this.#find(selector), this.#place());
  }

  has(selector: string): boolean {
    return this.#find(selector) !== null;
  }

  /** Whether a person sees this. White space and case do not matter. */
  says(text: string | RegExp): boolean {
    const seen = visibleText(this.root ?? this.document);
    if (typeof text !== 'string') return seen.search(text) >= 0;
    return seen.toLowerCase().includes(text.replace(/\s+/g, ' ').trim().toLowerCase());
  }

  /** As a person sees it: in one line, without scripts and hidden parts. */
  text(selector = ITSELF): string {
    return this.#read(selector, TEXT);
  }

  /** Split where a person sees a new line begin; without empty lines. */
  lines(selector = ITSELF): string[] {
    return this.#read(selector, LINES);
  }

  attribute(selector: string, name: string): string {
    return this.#read(selector, attributeNamed(name));
  }

  /** The absolute address that `href` leads to. */
  link(selector = ITSELF): string {
    return this.#read(selector, LINK);
  }

  number(selector = ITSELF): number {
    return this.#read(selector, NUMBER);
  }

  /** The amount without its currency: `$1,129.60` is 1129.6, `1.234,50 €` is 1234.5. */
  money(selector = ITSELF): number {
    return this.#read(selector, MONEY);
  }

  /** `10.00%` is 10. */
  percent(selector = ITSELF): number {
    return this.#read(selector, PERCENT);
  }

  /** `1/5/2025` is '2025-01-05'. */
  date(selector = ITSELF): string {
    return this.#read(selector, DATE);
  }

  table(selector = ITSELF): Table {
    return this.#read(selector, TABLE);
  }

  /** Labels and the values beside them: in a list, in a table, or one per line. */
  keyValues(selector = ITSELF): Record<string, string> {
    return this.#read(selector, KEY_VALUES);
  }

  /** A reader of the first match only. */
  within(selector: string): Reader {
    const element = this.#find(selector);
    if (element === null) throw this.absent(selector);
    return this.#part(element, selector);
  }

  /** What `read` returns for each match, in document order. No match is not a failure: see `expect.fields` for that. */
  all<T>(selector: string, read: (reader: Reader, index: number) => T): T[] {
    this.noteUse(selector);
    return findAll(this.document, this.root, selector).map((element, index) =>
      read(this.#part(element, `${selector} (${index + 1})`), index),
    );
  }

  /** The failure to throw when your own check misses something: it includes what the page says instead. */
  missing(what: string): ScrapeFailure {
    return this.absent(what);
  }

  /** What it reads; null for the whole page. */
  protected get root(): Element | null {
    return null;
  }

  /** For authors who try their scraper out. */
  protected noteUse(selector: string): void {
    SELECTOR_WATCH.note(() => this.document, this.root, selector, this.locate(selector));
  }

  /** `td in tr.total in #taxes`: from the inside out. */
  protected locate(selector: string): string {
    return selector === ITSELF ? 'the page' : selector;
  }

  /** The failure if nothing on the page explains why something is missing. */
  protected notOnPage(what: string): ScrapeFailure {
    const element = findFirst(this.document, null, 'title');
    const title = element === null ? '' : visibleText(element).slice(0, 100);
    return new ScrapeFailure(
      failure('structure_changed', `${what} is not on the page (title ${JSON.stringify(title)}, ${this.url})`),
    );
  }

  /** Like `absent`, with the whole path in `what`. */
  protected absentFromPage(what: string): ScrapeFailure {
    return this.absent(what);
  }

  #part(element: Element, name: string): Reader {
    return new Part(this, element, this.locate(name), (what) => this.absentFromPage(what));
  }

  #read<T>(selector: string, reading: Reading<T>): T {
    const element = this.#find(selector);
    if (element === null) throw this.absent(selector === ITSELF ? reading.what : selector);
    const value = reading.read(element, selector, this.#place());
    if (value === null) throw this.absent(selector === ITSELF ? reading.what : `${reading.what} of ${selector}`);
    return value;
  }

  #find(selector: string): Element | null {
    if (selector === ITSELF)
      return this.root ?? findFirst(this.document, null, 'body') ?? findFirst(this.document, null, '*');
    this.noteUse(selector);
    return findFirst(this.document, this.root, selector);
  }

  #place(): Place {
    const { document, url } = this;
    return { document, url, locate: (what) => this.locate(what), absent: (what) => this.absent(what) };
  }
}

/** One element of a page. */
class Part extends Reader {
  readonly #page: Reader;
  /** The one that its element is in, even if the page is parsed again. */
  readonly #document: PageDocument;
  readonly #root: Element;
  readonly #name: string;
  readonly #absentFromPage: (what: string) => ScrapeFailure;

  constructor(page: Reader, root: Element, name: string, absentFromPage: (what: string) => ScrapeFailure) {
    super();
    this.#page = page;
    this.#document = page.document;
    this.#root = root;
    this.#name = name;
    this.#absentFromPage = absentFromPage;
  }

  override get document(): PageDocument {
    return this.#document;
  }

  override get $(): CheerioAPI {
    return this.#page.$;
  }

  override get url(): string {
    return this.#page.url;
  }

  protected override get root(): Element {
    return this.#root;
  }

  protected override locate(selector: string): string {
    return selector === ITSELF ? this.#name : `${selector} in ${this.#name}`;
  }

  protected override absent(what: string): ScrapeFailure {
    return this.#absentFromPage(`${what} in ${this.#name}`);
  }

  protected override absentFromPage(what: string): ScrapeFailure {
    return this.#absentFromPage(what);
  }
}
