import { createHash } from 'node:crypto';
import { countFound, readHtml, readMarkdown } from '../../test/support/page-words.ts';
import { CORPORA } from './corpora.ts';
import { matcher } from './matcher.ts';

/** The input of a process that measures one converter. */
export interface Task {
  readonly converter: string;
  readonly url: string;
  readonly corpora: readonly { readonly package: string; readonly paths: readonly string[] }[];
}

/** Sums over pages; `seconds` is the CPU time of the conversion alone, on which other work of the machine has little influence. */
export interface Sums {
  readonly package: string;
  readonly pages: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly words: number;
  readonly wordsFound: number;
  /** Words of the Markdown. */
  readonly written: number;
  readonly codes: number;
  readonly codesFound: number;
  /** The pages with the lowest recall, to look at. */
  readonly worst: readonly { readonly path: string; readonly recall: number; readonly missing: string }[];
}

interface Fetched {
  readonly path: string;
  readonly url: string;
  readonly html: string;
}

type Convert = (html: string, url: string) => string;

/** Pages that are converted before the clock runs, so that the code is compiled. */
const WARM_UP = 300;
const WARM_UP_SECONDS = 10;
/** Limit for a package. One of the converters needs seconds for a page of Python's library: hours for all of them. */
const MOST_SECONDS = 60;
const WORST = 5;

async function openConverter(name: string): Promise<Convert> {
  if (name === 'trawl') {
    const { toMarkdown } = await import('../../src/scraping/markdown/to-markdown.ts');
    return (html, url) => toMarkdown(html, { url }).markdown;
  }
  // They are JavaScript without types, and missing until they are installed.
  const file = './peers.mjs';
  const peers: Record<string, () => Convert> = await import(file);
  const open = peers[name === 'turndown' ? 'openTurndown' : 'openNodeHtmlMarkdown'];
  if (open === undefined) throw new Error(`there is no converter ${name}`);
  return open();
}

async function measure(task: Task): Promise<Sums[]> {
  const convert = await openConverter(task.converter);
  const sums: Sums[] = [];
  for (const { package: name, paths } of task.corpora) {
    const pages: Fetched[] = [];
    for (const path of mix(paths)) {
      const url = new URL(path, task.url).href;
      pages.push({ path, url, html: await (await fetch(url)).text() });
    }
    warmUp(pages, convert);
    const { converted, seconds } = convertAll(pages, convert);
    sums.push({ ...score(name, pages.slice(0, converted.length), converted), seconds });
  }
  return sums;
}

function warmUp(pages: readonly Fetched[], convert: Convert): void {
  const begun = cpuSeconds();
  for (const { html, url } of pages.slice(-WARM_UP)) {
    convert(html, url);
    if (cpuSeconds() - begun > WARM_UP_SECONDS) return;
  }
}

function convertAll(pages: readonly Fetched[], convert: Convert): { converted: string[]; seconds: number } {
  const converted: string[] = [];
  const begun = cpuSeconds();
  for (const { html, url } of pages) {
    if (cpuSeconds() - begun > MOST_SECONDS) break;
    converted.push(convert(html, url));
  }
  return { converted, seconds: cpuSeconds() - begun };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Sorts pages in an order that mixes the folders, and is always the same. */
function mix(paths: readonly string[]): string[] {
  return paths
    .map((path) => ({ path, key: createHash('sha256').update(path).digest('hex') }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ path }) => path);
}

function score(name: string, pages: readonly Fetched[], converted: readonly string[]): Omit<Sums, 'seconds'> {
  const corpus = CORPORA.find((one) => one.package === name);
  if (corpus === undefined) throw new Error(`there is no package ${name}`);
  const total = { bytes: 0, words: 0, wordsFound: 0, written: 0, codes: 0, codesFound: 0 };
  const scores: Sums['worst'][number][] = [];
  for (const [index, { path, html }] of pages.entries()) {
    const wanted = readHtml(html, matcher(corpus.content), matcher(corpus.outside));
    const given = readMarkdown(converted[index] ?? '');
    const codes = wanted.codes.filter((code) => code.trim() !== '');
    const found = countFound(wanted.words, given.words);
    const codesFound = countFound(codes, given.codes);
    total.bytes += Buffer.byteLength(html);
    total.words += wanted.words.length;
    total.wordsFound += found;
    total.written += given.words.length;
    total.codes += codes.length;
    total.codesFound += codesFound;
    const missing = codesFound < codes.length ? codes.find((code) => !given.codes.includes(code)) : '';
    const recall = wanted.words.length === 0 ? 1 : found / wanted.words.length;
    scores.push({ path, recall: Math.round(recall * 1e4) / 1e4, missing: (missing ?? '').slice(0, 80) });
  }
  scores.sort((a, b) => a.recall - b.recall);
  return { package: name, pages: pages.length, ...total, worst: scores.slice(0, WORST) };
}

const task: Task = JSON.parse(process.argv[2] ?? '{}');
process.stdout.write(JSON.stringify(await measure(task)));
