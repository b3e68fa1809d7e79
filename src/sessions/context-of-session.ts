import type { BrowserContext, BrowserContextOptions } from 'playwright-core';
import { type BrowserSession, BrowserUnavailable } from '../ports/browser-provider.ts';
import type { Clock } from '../ports/clock.ts';
import { within } from '../ports/within.ts';

/** A context takes 0.3 s of processor time to open. */
const OPEN_MS = 20_000;
const CLOSE_MS = 5000;

/** A context for one item, within our own deadline: a hanging browser never answers. */
export async function openContext(
  session: BrowserSession,
  options: BrowserContextOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<BrowserContext> {
  if (session.contexts === 'shared') return sharedContext(session);
  const opened = session.browser.newContext(options);
  const { promise: over, reject } = Promise.withResolvers<never>();
  const end = () => reject(signal.aborted ? signal.reason : session.gone.reason);
  for (const each of [signal, session.gone]) each.addEventListener('abort', end, { once: true });
  if (signal.aborted || session.gone.aborted) end();
  try {
    const context = await Promise.race([within(clock, OPEN_MS, opened, () => null), over]);
    if (context !== null) return context;
    throw new BrowserUnavailable('failed', `the browser opened no context within ${OPEN_MS / 1000} s`);
  } catch (error) {
    // It may still open, and must then be closed.
    opened.then((context) => closeContext(session, context, clock)).catch(() => {});
    throw error;
  } finally {
    for (const each of [signal, session.gone]) each.removeEventListener('abort', end);
  }
}

function sharedContext(session: BrowserSession): BrowserContext {
  const [context] = session.browser.contexts();
  if (context === undefined)
    throw new BrowserUnavailable('failed', `the browser of session ${session.id} has no context`);
  return context;
}

/** Whether the browser did it in time and can have another item. */
export async function closeContext(session: BrowserSession, context: BrowserContext, clock: Clock): Promise<boolean> {
  const closed = session.contexts === 'own' ? context.close() : emptyContext(context);
  return await within(
    clock,
    CLOSE_MS,
    closed.then(
      () => true,
      () => false,
    ),
    () => false,
  );
}

/** For the next item in the same context: no page, no cookie and no storage of the previous one. */
async function emptyContext(context: BrowserContext): Promise<void> {
  const origins = new Set(context.pages().map((page) => URL.parse(page.url())?.origin ?? 'null'));
  for (const { origin } of (await context.storageState({ indexedDB: true })).origins) origins.add(origin);
  // A browser without a page may end.
  const blank = await context.newPage();
  const cdp = await context.newCDPSession(blank);
  for (const page of context.pages()) if (page !== blank) await page.close();
  for (const origin of origins) {
    if (origin !== 'null') await cdp.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  }
  await cdp.send('Network.clearBrowserCache');
  await cdp.detach();
  await context.clearCookies();
  await context.clearPermissions();
}
