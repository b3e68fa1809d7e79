import type { Download, Page, Response } from 'playwright-core';
import { failure } from '../../domain/failure.ts';
import type { AnswerHead } from '../../egress/web.ts';
import { type DocumentOptions, DocumentSink, type OptionalDocument, type WebDocument } from '../http/web-document.ts';
import { fail, ScrapeFailure } from '../scrape-failure.ts';
import type { DownloadWish, TabDeps } from './tab-deps.ts';

type Options = DocumentOptions & Partial<OptionalDocument>;

/**
 * Keeps a document. If it has an address, the HTTP client fetches it with the cookies of the browser: its limits act
 * while the bytes arrive, and a viewer in the browser cannot replace a PDF with its own page. What only a click can
 * produce (a posted form, a file made by a script) is downloaded by the browser.
 */
export async function keepDownload(
  page: Page,
  deps: TabDeps,
  wish: DownloadWish,
  options: Options,
  timeout: number,
): Promise<WebDocument | null> {
  if ('begun' in wish) {
    return optionally(options, deps, wish.begun.url(), () => keepFile(page, deps, wish.begun, options));
  }
  if ('url' in wish) return fetchDocument(page, deps, new URL(wish.url, page.url()).href, options);
  if ('link' in wish) {
    const element = page.locator(wish.link).first();
    const href = await element.evaluate((node) => (node as unknown as { href?: unknown }).href, undefined, { timeout });
    if (typeof href !== 'string' || !/^https?:/.test(href)) {
      return fail('structure_changed', `${wish.link} has no address to download from (${page.url()})`);
    }
    return fetchDocument(page, deps, href, options);
  }
  const begin = 'click' in wish ? () => page.locator(wish.click).first().click({ timeout }) : wish.action;
  const begun = await begunBy(page, deps, begin, timeout);
  if ('address' in begun) return fetchDocument(page, deps, begun.address, options);
  return optionally(options, deps, begun.download.url(), () => keepFile(page, deps, begun.download, options));
}

/** Null for an optional document that cannot be fetched. */
function fetchDocument(
  page: Page,
  { http }: TabDeps,
  url: string,
  { as, optional }: Options,
): Promise<WebDocument | null> {
  const here = page.url();
  const referer = /^https?:/.test(here) ? { headers: { referer: here.replace(/#.*/s, '') } } : {};
  const wanted = { ...(as !== undefined && { as }), ...referer };
  return optional === true ? http.document(url, { ...wanted, optional }) : http.document(url, wanted);
}

async function optionally<T>(
  { optional }: Options,
  { log }: TabDeps,
  url: string,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (optional !== true || !(error instanceof ScrapeFailure) || error.type === 'unexpected') throw error;
    log.info({ url, type: error.type, message: error.message }, 'an optional document is missing');
    return null;
  }
}

type Begun = { readonly download: Download } | { readonly address: string };

/** A browser that shows PDFs does not download them: then the answer itself is the document. */
const SHOWN_MS = 1500;

async function begunBy(page: Page, deps: TabDeps, begin: () => Promise<unknown>, timeout: number): Promise<Begun> {
  const { promise, resolve, reject } = Promise.withResolvers<Begun>();
  const context = page.context();
  const onResponse = (response: Response) => {
    if (!isShownDocument(response)) return;
    void deps.deadline.within(SHOWN_MS, promise, 'the download').catch(() => resolve({ address: response.url() }));
  };
  const stopListening = deps.watch.onDownload((download) => resolve({ download }));
  context.on('response', onResponse);
  try {
    begin().catch(reject);
    return await deps.deadline.within(timeout, promise, 'the download');
  } finally {
    stopListening();
    context.off('response', onResponse);
  }
}

function isShownDocument(response: Response): boolean {
  const request = response.request();
  if (request.method() !== 'GET' || !request.isNavigationRequest() || !response.ok()) return false;
  return /^application\/pdf\b/i.test(response.headers()['content-type'] ?? '');
}

const DELETE_MS = 1000;

async function keepFile(page: Page, deps: TabDeps, download: Download, { as }: Options): Promise<WebDocument> {
  const limit = deps.limits.documentBytes;
  const url = download.url();
  try {
    await untilDownloaded(deps, download);
    const head: AnswerHead = {
      status: 200,
      headers: { 'content-disposition': `attachment; filename="${download.suggestedFilename().replaceAll('"', '')}"` },
      url: /^https?:/.test(url) ? url : page.url(),
    };
    return await readInto(new DocumentSink(head, as ?? null, deps.draft), download, { as: as ?? null, limit });
  } finally {
    // Otherwise it remains until the context is closed.
    await deps.deadline.within(DELETE_MS, download.delete(), 'deleting the download').catch(() => {});
  }
}

async function untilDownloaded({ policy, deadline, way }: TabDeps, download: Download): Promise<void> {
  const itemMs = policy.timeouts.item_timeout_seconds * 1000;
  const why = await deadline.within(itemMs, download.failure(), 'the download');
  if (why === null) return;
  throw way.refusal() ?? new ScrapeFailure(failure('navigation_failed', `the download failed: ${why}`));
}

async function readInto(
  sink: DocumentSink,
  download: Download,
  { as, limit }: { readonly as: string | null; readonly limit: number },
): Promise<WebDocument> {
  let size = 0;
  try {
    for await (const chunk of await download.createReadStream()) {
      size += chunk.length;
      if (size > limit) fail('too_large', `the document has more than ${limit} bytes (${download.url()})`);
      await sink.write(chunk);
    }
    const got = await sink.end();
    if ('draft' in got) return got;
    return fail('navigation_failed', `asked for a ${as ?? 'document'}, but something else came (${download.url()})`);
  } catch (error) {
    await sink.discard();
    throw error;
  }
}
