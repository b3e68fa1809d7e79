import { type Element, isTag, isText, type ParentNode } from 'domhandler';
import type { ClassBook } from './class-hints.ts';
import { cleanLanguage, LANGUAGE_NAMES } from './code-language.ts';
import { KINDS } from './elements.ts';
import { isNoiseByAttributes } from './noise.ts';

/** How far out a class that names the language may be: Sphinx puts it two elements around the `<pre>`. */
const MAX_WRAPPERS = 3;
const WRAPPERS = new Set(['div', 'figure', 'td', 'code', 'pre', 'section']);
/** Elements that each show a line, in highlighters that write no line ends between them. */
const LINE_CLASSES = new Set(['line', 'token-line', 'code-line', 'cl-line']);

/** Uses a fence longer than any backticks inside. */
export function writeCodeBlock(code: string, language: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(code) + 1));
  return `${fence}${language}\n${code}${code === '' || code.endsWith('\n') ? '' : '\n'}${fence}`;
}

/** A code span. White space is collapsed: Markdown does the same with line ends. */
export function writeCodeSpan(text: string): string {
  const code = text.replace(/[\s\0]+/g, ' ').trim();
  if (code === '') return '';
  if (!code.includes('`')) return `\`${code}\``;
  const fence = '`'.repeat(longestRun(code) + 1);
  const pad = code.startsWith('`') || code.endsWith('`') ? ' ' : '';
  return `${fence}${pad}${code}${pad}${fence}`;
}

function longestRun(code: string): number {
  if (!code.includes('`')) return 0;
  let longest = 0;
  for (const [run] of code.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/**
 * The exact text of a `<pre>` as shown: without line numbers and buttons, whatever its highlighting. As in a browser, a
 * line end right after the `<pre>` is not part of it.
 */
export function readCode(pre: Element, classes: ClassBook): string {
  const parts: string[] = [];
  gather(pre, parts, classes);
  const text = parts.length === 1 ? (parts[0] ?? '') : parts.join('');
  const even = /[\r\0]/.test(text) ? text.replace(/\r\n?/g, '\n').replaceAll('\0', '') : text;
  const first = KINDS.get(pre.name) === 'pre' ? pre.children[0] : undefined;
  return first !== undefined && isText(first) && even.startsWith('\n') ? even.slice(1) : even;
}

function gather(node: ParentNode, parts: string[], classes: ClassBook): void {
  let isAfterLine = false;
  for (const child of node.children) {
    if (isText(child)) {
      parts.push(child.data);
      isAfterLine = false;
      continue;
    }
    if (!isTag(child)) continue;
    if (child.name === 'br') {
      parts.push('\n');
      isAfterLine = false;
      continue;
    }
    const hints = classes.read(child.attribs['class']);
    if (hints.isNoise || KINDS.get(child.name) === 'skip' || isNoiseByAttributes(child)) continue;
    const isLine = hints.names.some((name) => LINE_CLASSES.has(name));
    if (child.name === 'div' || child.name === 'tr' || (isLine && isAfterLine)) endLine(parts);
    gather(child, parts, classes);
    isAfterLine = isLine;
  }
}

function endLine(parts: string[]): void {
  const last = parts[parts.length - 1];
  if (last !== undefined && !last.endsWith('\n')) parts.push('\n');
}

/** The language of a `<pre>`, from it, the `<code>` inside or an element around it. */
export function readCodeLanguage(pre: Element, classes: ClassBook): string {
  const inner = pre.children.find((child) => isTag(child) && child.name === 'code');
  const own = [pre, ...(inner !== undefined && isTag(inner) ? [inner] : [])];
  for (const { attribs } of own) {
    const named =
      attribs['data-language'] ?? attribs['data-lang'] ?? attribs['syntax'] ?? programmingLanguage(attribs['lang']);
    if (named !== undefined && named !== '') return cleanLanguage(named);
    const { language } = classes.read(attribs['class']);
    if (language !== '') return language;
  }
  let around = pre.parent;
  for (let level = 0; level < MAX_WRAPPERS && around !== null && isTag(around); level += 1) {
    if (!WRAPPERS.has(around.name)) break;
    const { language } = classes.read(around.attribs['class']);
    const named = around.attribs['data-language'] ?? around.attribs['data-lang'];
    if (named !== undefined && named !== '') return cleanLanguage(named);
    if (language !== '') return language;
    around = around.parent;
  }
  return '';
}

/** `<pre lang="js">` of GitHub, but not the `lang="en"` of a page in English. */
function programmingLanguage(name: string | undefined): string | undefined {
  return name !== undefined && LANGUAGE_NAMES.has(name.toLowerCase()) ? name : undefined;
}
