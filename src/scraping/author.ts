/** What a scraper author imports, as `trawl/scraper`. Anything not exported here may change without notice. */
export { z } from 'zod';
export { FAILURE_TYPES, type Failure, type FailureType, failure } from '../domain/failure.ts';
export {
  type BrowserScrapeContext,
  type BrowserScrapeResult,
  type BrowserSetupContext,
  defineBrowserScraper,
} from './browser/define-browser-scraper.ts';
export type { RenderedPage } from './browser/rendered-page.ts';
export type { GotoOptions, ReadOptions, Tab } from './browser/tab.ts';
export type { DownloadWish } from './browser/tab-deps.ts';
export type { Awaited as PageWait } from './browser/waits.ts';
export { definePlainScraper } from './define-scraper.ts';
export { expect } from './extract/expect.ts';
export type { OptionalReader } from './extract/optional-reader.ts';
export { parseMoney } from './extract/parse-money.ts';
export { parseDate, parseNumber, parsePercent } from './extract/parse-values.ts';
export type { Reader } from './extract/reader.ts';
export type { Table } from './extract/table.ts';
export { certify } from './fixtures/certify.ts';
export type { AnswerOptions } from './http/answer-options.ts';
export {
  defineHttpScraper,
  type HttpScrapeContext,
  type HttpScrapeResult,
} from './http/define-http-scraper.ts';
export type { Form } from './http/form.ts';
export type { HttpClient } from './http/http-client.ts';
export type { Page } from './http/page.ts';
export type { SetupContext } from './http/setup.ts';
export type { DocumentOptions, OptionalDocument, WebDocument } from './http/web-document.ts';
export type { KeptPages, PageToParse } from './kept-pages.ts';
export { fail, ScrapeFailure } from './scrape-failure.ts';
export type { FoundItem, ProducedArtifact, ScrapeContext, ScrapeResult, Scraper } from './scraper.ts';
