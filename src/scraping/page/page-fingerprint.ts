import { hash } from 'node:crypto';
import { encodeLayout, HASH_LENGTH, SAMPLE_SIZE } from '../../domain/page-layout.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import { titleOf } from './rough-text.ts';

/** The structure of a page shows early; the rest is details. */
const MOST_CHARACTERS = 256 * 1024;

/** A page with more distinct parts has names without a pattern. */
const MOST_PARTS = 300;

const LONGEST_NAME = 60;

/** Runs part of a scraper's work. A failure in it records the layout of its page, if there was one by then. */
export async function onPage<T>(page: () => { readonly body: string } | null, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw seenOn(page(), error);
  }
}

/** The error to throw for one that occurred on a page. An error that already records its page keeps it. */
export function seenOn(page: { readonly body: string } | null, error: unknown): unknown {
  if (!(error instanceof ScrapeFailure) || error.failure.page !== undefined) return error;
  // A scraper that is not type-checked may call anything a page.
  if (typeof page?.body !== 'string') return error;
  return new ScrapeFailure({ ...error.failure, page: pageFingerprint(page.body) });
}

/**
 * The layout of a page, for comparison with another (`isSameLayout`): the elements that it has, each once, so that a
 * table of three rows and one of thirty are the same. The title counts only if there is little else, as on error pages;
 * on others it may name an owner. It does not parse, reads at most the first 256 KiB, and only moves forward: whatever
 * a site sends, it takes a few milliseconds.
 */
export function pageFingerprint(source: string): string {
  const text = source.slice(0, MOST_CHARACTERS);
  const parts = partsOf(text.toLowerCase());
  const words = parts.size < SAMPLE_SIZE / 2 ? withoutParticulars(titleOf(text)).split(' ') : [];
  const features = [...parts, ...words.map((word) => `title ${word}`)];
  const hashes = features.map((feature) => hash('sha256', feature, 'base64url').slice(0, HASH_LENGTH));
  return encodeLayout(hashes, (sample) => hash('sha256', sample));
}

/** As for failure messages: numbers, ids and quoted text belong to this item; the rest is common to all. */
function withoutParticulars(title: string): string {
  const unquoted = title.toLowerCase().replaceAll(/"[^"]*"|“[^”]*”/g, '');
  return withoutNumbers(unquoted).replaceAll(/\s+/g, ' ').trim();
}

/** `ctl02_grid` and `ctl03_grid` are one, and so are `123-45-678a` and `9-1`. */
function withoutNumbers(text: string): string {
  const words = text.replaceAll(/[\p{L}\d]+/gu, (word) => (/\d/.test(word) ? '#' : word));
  return words.replaceAll(/#(?:[-.]#)+/g, '#');
}

/** Texts up to their closing tag, where nothing counts as an element. */
const TEXTS = new Set(['script', 'style', 'title', 'textarea', 'noscript', 'template', 'xmp']);

/**
 * These form the layout of a page, and count with their id and classes. What is in them depends on the item: a line for
 * a second owner, a row marked as overdue.
 */
const CONTAINERS = new Set([
  ...['body', 'main', 'header', 'footer', 'nav', 'section', 'article', 'aside'],
  ...['div', 'form', 'table', 'iframe', 'fieldset', 'dialog'],
]);

const TAG = /[a-z][^\s/>]*/y;
/** A name and its value. An unclosed quote is searched for only once: there is no further quote then. */
const ATTRIBUTE = /[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]*))?/y;

/** `form#search`, `form.main`, `td`. The text is in lower case. */
function partsOf(text: string): ReadonlySet<string> {
  const parts = new Set<string>();
  for (let at = text.indexOf('<'); at >= 0 && parts.size < MOST_PARTS; at = text.indexOf('<', at)) {
    at += 1;
    if (text.startsWith('!--', at)) {
      at = endOf(text, '-->', at);
      continue;
    }
    TAG.lastIndex = at;
    const [name] = TAG.exec(text) ?? [];
    if (name === undefined) continue;
    const { end, id, classes } = attributesFrom(text, at + name.length);
    parts.add(clip(name));
    if (CONTAINERS.has(name)) for (const label of [id, ...classes]) parts.add(`${name}${label}`);
    at = TEXTS.has(name) ? endOf(text, `</${name}`, end) : end;
  }
  return parts;
}

/** Reads up to the end of a tag. */
function attributesFrom(text: string, from: number): Attributes {
  let at = from;
  let id = '';
  let classes: readonly string[] = [];
  for (;;) {
    ATTRIBUTE.lastIndex = at;
    const found = ATTRIBUTE.exec(text);
    if (found === null) break;
    at = ATTRIBUTE.lastIndex;
    const [, name, value = ''] = found;
    if (name === 'id') id = `#${blurred(value)}`;
    if (name === 'class') classes = classesIn(value);
  }
  return { end: at, id, classes };
}

interface Attributes {
  readonly end: number;
  /** `#main`; empty if there is none. */
  readonly id: string;
  /** `.wide`, each separately: one of them may only mark the state of an item. */
  readonly classes: readonly string[];
}

const MOST_CLASSES = 8;

function classesIn(value: string): readonly string[] {
  const names = blurred(value).split(/\s+/, MOST_CLASSES);
  return names.map((name) => `.${name}`);
}

function blurred(value: string): string {
  return clip(withoutNumbers(value.slice(0, 4 * LONGEST_NAME).replaceAll(/["']/g, '')).trim());
}

function clip(name: string): string {
  return name.slice(0, LONGEST_NAME);
}

function endOf(text: string, closing: string, from: number): number {
  const found = text.indexOf(closing, from);
  return found < 0 ? text.length : found + closing.length;
}
