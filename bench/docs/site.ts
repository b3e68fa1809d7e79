import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A site of documentation, in a process of its own: pages of about 36 KB (the average of the
 * packages of the Markdown benchmark) as generators make them, with navigation, headings,
 * links, lists, tables and highlighted code. Each page has its own text, so that nothing can be shared between pages.
 */
const WORDS =
  'a an and are argument array be between block body by call class code command default each error event every example field file first for from function given has if in index into is it item key last limit line list message method module name new not object of on one option or order output page parameter path pattern port process query read request response result return returns same section server set setting source stream string table text that the then this time to token type until update url use used user value version when where which with without write you'.split(
    ' ',
  );
const LANGUAGES = ['python', 'javascript', 'sql', 'console'];
const SECTIONS = 12;

/** Numbers that look random, and are the same in every run. */
function dice(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

function seedOf(path: string): number {
  let seed = 7;
  for (let at = 0; at < path.length; at += 1) seed = (Math.imul(seed, 31) + path.charCodeAt(at)) | 0;
  return seed;
}

export function makePage(path: string): string {
  const roll = dice(seedOf(path));
  const word = () => WORDS[roll(WORDS.length)] ?? '';
  const words = (count: number) => Array.from({ length: count }, word).join(' ');
  const link = () => `<a class="reference internal" href="../${word()}/${word()}.html#${word()}">${words(2)}</a>`;
  const code = () => `<code class="docutils literal notranslate"><span class="pre">${word()}_${word()}</span></code>`;
  const paragraph = () => `<p>${words(18)} ${code()} ${words(14)} ${link()} ${words(12)}, <em>${words(2)}</em>.</p>`;
  const source = () =>
    Array.from(
      { length: 6 },
      () =>
        `<span class="k">${word()}</span> <span class="n">${word()}</span><span class="p">(</span><span class="s1">'${words(2)}'</span><span class="p">)</span>`,
    ).join('\n');
  const block = () =>
    `<div class="highlight-${LANGUAGES[roll(4)]} notranslate"><div class="highlight"><pre>${source()}\n</pre></div></div>`;
  const list = () => `<ul>${Array.from({ length: 5 }, () => `<li><p>${words(9)} ${code()}</p></li>`).join('\n')}</ul>`;
  const table = () =>
    `<table><thead><tr><th>${word()}</th><th>${word()}</th></tr></thead><tbody>${Array.from({ length: 5 }, () => `<tr><td>${code()}</td><td>${words(8)}</td></tr>`).join('')}</tbody></table>`;
  const note = () => `<div class="admonition note"><p class="admonition-title">Note</p>${paragraph()}</div>`;
  const extras = [block, list, table, note];
  const section = (_: unknown, at: number) =>
    `<section id="s${at}"><h2>${words(3)}<a class="headerlink" href="#s${at}">¶</a></h2>${paragraph()}\n${(extras[at % 4] ?? block)()}\n${paragraph()}\n${block()}</section>`;
  const navigation = Array.from({ length: 40 }, () => `<li class="toctree-l1">${link()}</li>`).join('');
  return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>${path} — Model 1.0</title><link rel="stylesheet" href="/s.css"><script src="/s.js"></script></head><body>
<nav class="sidebar"><ul>${navigation}</ul></nav><div class="body" role="main"><h1>Page ${path}</h1>${Array.from({ length: SECTIONS }, section).join('\n')}</div>
<footer class="footer">Made for measuring.</footer></body></html>`;
}

if (import.meta.main) {
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    if (path === '/robots.txt') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('User-agent: *\nDisallow: /private/\n');
      return;
    }
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      etag: `"${seedOf(path)}"`,
      'last-modified': 'Wed, 01 Jan 2025 00:00:00 GMT',
    });
    response.end(makePage(path));
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
  });
  process.stdin.once('close', () => process.exit()).resume();
}
