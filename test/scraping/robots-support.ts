import type { TestContext } from 'node:test';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import { defineHttpScraper, z } from '../../src/scraping/author.ts';
import { RobotsBook } from '../../src/scraping/robots/robots-book.ts';
import type { ScrapeContext, ScrapeResult, ScrapeTools } from '../../src/scraping/scraper.ts';
import { policyOf } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { contextOf, webTools } from './http-support.ts';

/** Tools with a book of robots.txt files, whose time passes only when `clock` is advanced. */
export function robotsTools(t: TestContext, { maxFiles = 1000 } = {}) {
  const clock = new FakeClock();
  const gate = new PoliteHostGate({ clock });
  const lines: string[] = [];
  const log = { debug: () => {}, info: (_: object, line: string) => lines.push(line), warn: () => {} };
  const tools = webTools(t, gate);
  const robots = new RobotsBook({ web: tools.web, gate, clock, log, maxFiles });
  t.after(() => robots.close());
  return { clock, gate, lines, tools: { ...tools, robots } };
}

/** Fetches the pages of its input. */
const SCRAPER = defineHttpScraper({
  ...{ id: 'pages', name: 'Pages', version: '1', description: '', hosts: [] },
  input: z.object({ urls: z.array(z.string()) }),
  output: z.object({ pages: z.int() }),
  async scrape({ http, input }) {
    for (const url of input.urls) await http.get(url);
    return { data: { pages: input.urls.length } };
  },
});

export const RESPECT = policyOf({ robots: 'respect', timeouts: { request_timeout_seconds: 20 } });

export function visit(tools: ScrapeTools, urls: readonly string[], context: Partial<ScrapeContext> = {}) {
  return SCRAPER.scrape(contextOf(tools, { input: { urls }, policy: RESPECT, ...context }));
}

/** `scraped`, `skipped: robots` or `server_error`. */
export function endOf(result: ScrapeResult): string {
  if (result.kind === 'skipped') return `skipped: ${result.reason}`;
  return result.kind === 'failed' ? result.failure.type : result.kind;
}
