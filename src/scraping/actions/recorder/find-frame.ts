import type { Frame as BrowserFrame } from 'playwright-core';
import type { Frame } from '../../../domain/recording/selector.ts';

/** The path to a frame: by the id or name of its element where that is the only one, otherwise by its number. */
export async function findFrame(frame: BrowserFrame): Promise<Frame> {
  const path: (string | number)[] = [];
  for (let at = frame; ; ) {
    const parent = at.parentFrame();
    if (parent === null) return path;
    const number = parent.childFrames().indexOf(at);
    path.unshift((await selectorOf(at)) ?? Math.max(number, 0));
    at = parent;
  }
}

async function selectorOf(frame: BrowserFrame): Promise<string | null> {
  try {
    const element = await frame.frameElement();
    const selector = await element.evaluate(FRAME_SELECTOR);
    await element.dispose();
    return selector;
  } catch {
    // The page has gone on.
    return null;
  }
}

interface PageElement {
  readonly id: string;
  getAttribute(name: string): string | null;
  readonly ownerDocument: { querySelectorAll(css: string): { readonly length: number } };
}

/** Run in the page. */
const FRAME_SELECTOR = (node: unknown): string | null => {
  const { id, ownerDocument } = node as PageElement;
  const name = (node as PageElement).getAttribute('name') ?? '';
  const isPlain = (text: string) => /^[A-Za-z_][\w-]*$/.test(text) && !/\d{4,}/.test(text);
  const selectors = [...(isPlain(id) ? [`#${id}`] : []), ...(isPlain(name) ? [`[name="${name}"]`] : [])];
  return selectors.find((css) => ownerDocument.querySelectorAll(css).length === 1) ?? null;
};
