import type { BrowserContext, Page } from 'playwright-core';

/**
 * What a page copies, without the clipboard: that is shared by all contexts of a browser, so that parallel pages would
 * read each other's text, and over plain HTTP there is none. A script that runs before those of the page replaces
 * `navigator.clipboard`, and listens for `copy`, which `document.execCommand` and key strokes cause.
 */
const CAPTURE = `(() => {
  let copied = null;
  const keep = (text) => { copied = String(text); };
  const textOf = async (data) => {
    for (const item of Array.from(data)) {
      const type = item.types.find((each) => each === 'text/markdown') ?? item.types.find((each) => each === 'text/plain');
      if (type !== undefined) return keep(await (await item.getType(type)).text());
    }
  };
  const clipboard = {
    writeText: async (text) => keep(text),
    write: (data) => textOf(data),
    readText: async () => copied ?? '',
    read: async () => [],
    addEventListener() {},
    removeEventListener() {},
    dispatchEvent: () => true,
  };
  Object.defineProperty(Navigator.prototype, 'clipboard', { configurable: true, get: () => clipboard });
  window.addEventListener('copy', (event) => {
    const given = event.clipboardData?.getData('text/plain') ?? '';
    const field = document.activeElement;
    const isField = field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement;
    const selected = isField && field.selectionStart !== null
      ? field.value.slice(field.selectionStart, field.selectionEnd ?? undefined)
      : String(window.getSelection() ?? '');
    const text = given !== '' ? given : selected;
    if (text !== '') keep(text);
  });
  Object.defineProperty(window, '__trawlCopied', {
    value: { take: () => { const text = copied; copied = null; return text; } },
  });
})();`;

const PREPARED = new WeakSet<BrowserContext>();

/** Must be called before opening a page whose copies are wanted; once per context is enough. */
export async function captureCopies(context: BrowserContext): Promise<void> {
  if (PREPARED.has(context)) return;
  PREPARED.add(context);
  await context.addInitScript(CAPTURE);
}

/** What the page has copied since the last call; null for nothing. */
export async function takeCopied(page: Page): Promise<string | null> {
  const text: unknown = await page.evaluate('window.__trawlCopied?.take() ?? null');
  return typeof text === 'string' ? text : null;
}
