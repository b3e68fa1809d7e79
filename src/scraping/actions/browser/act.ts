import type { Locator } from 'playwright-core';
import type { ChosenFile } from '../../http/form-controls.ts';
import type { Interaction, OptionChoice } from '../engine.ts';

type ElementAction = Exclude<Interaction, { type: 'drag' }>;

/** Does something to an element that was found. Playwright waits until it can be used. */
export async function act(locator: Locator, action: ElementAction, timeout: number): Promise<void> {
  switch (action.type) {
    case 'click':
      return click(locator, action, timeout);
    case 'hover':
      return locator.hover({ timeout });
    case 'type':
      if (action.clear) await locator.clear({ timeout });
      return locator.pressSequentially(action.text, { delay: action.delayMs, timeout });
    case 'fill':
      return fill(locator, action.value, timeout);
    case 'select':
      await locator.selectOption(optionOf(action.choice), { timeout });
      return;
    case 'check':
      return locator.setChecked(action.checked, { timeout });
    case 'press':
      return locator.press(action.key, { timeout });
    case 'scroll':
      return scroll(locator, action.by, timeout);
    case 'upload':
      return locator.setInputFiles(action.files.map(payloadOf), { timeout });
  }
}

async function click(
  locator: Locator,
  action: Extract<Interaction, { type: 'click' }>,
  timeout: number,
): Promise<void> {
  const { times, button, modifiers, offset, holdMs } = action;
  const position = offset === null ? null : await insideOf(locator, offset, timeout);
  const options = { button, modifiers: [...modifiers], delay: holdMs, timeout, ...(position !== null && { position }) };
  return times === 2 ? locator.dblclick(options) : locator.click(options);
}

/** Pages look different today from when they were recorded: an offset outside of the element is dropped. */
async function insideOf(
  locator: Locator,
  offset: { readonly x: number; readonly y: number },
  timeout: number,
): Promise<{ x: number; y: number } | null> {
  const box = await locator.boundingBox({ timeout });
  if (box === null) return null;
  const isInside = offset.x >= 0 && offset.y >= 0 && offset.x < box.width && offset.y < box.height;
  return isInside ? { x: offset.x, y: offset.y } : null;
}

/** Recorders say "change" for everything: a list gets the option, a box is ticked. */
async function fill(locator: Locator, value: string, timeout: number): Promise<void> {
  const kind = await locator.evaluate(KIND_OF, undefined, { timeout });
  if (kind === 'select') await locator.selectOption(value, { timeout });
  else if (kind === 'checkbox' || kind === 'radio') await locator.setChecked(value !== 'false', { timeout });
  else await locator.fill(value, { timeout });
}

/** Run in the page. */
const KIND_OF = (node: unknown): string => {
  const { tagName, type } = node as { tagName: string; type?: string };
  return tagName === 'INPUT' ? (type ?? 'text') : tagName.toLowerCase();
};

function optionOf(choice: OptionChoice): string[] | { label: string } | { index: number } {
  if (choice.by === 'value') return [...choice.values];
  return choice.by === 'label' ? { label: choice.label } : { index: choice.index };
}

async function scroll(
  locator: Locator,
  by: { readonly x: number; readonly y: number } | null,
  timeout: number,
): Promise<void> {
  if (by === null) return locator.scrollIntoViewIfNeeded({ timeout });
  const to = { x: by.x, y: by.y };
  await locator.evaluate(
    (node, { x, y }) => (node as unknown as { scrollTo(x: number, y: number): void }).scrollTo(x, y),
    to,
    { timeout },
  );
}

function payloadOf({ name, contentType, bytes }: ChosenFile): { name: string; mimeType: string; buffer: Buffer } {
  return { name, mimeType: contentType, buffer: Buffer.from(bytes) };
}

/** Where a plain link leads; null for anything that a script works. */
export function addressOf(locator: Locator, timeout: number): Promise<string | null> {
  return locator.evaluate(ADDRESS_OF, undefined, { timeout });
}

/** Run in the page. */
const ADDRESS_OF = (node: unknown): string | null => {
  const { tagName, href, onclick } = node as { tagName: string; href?: unknown; onclick?: unknown };
  return tagName === 'A' && typeof href === 'string' && /^https?:/.test(href) && !onclick ? href : null;
};
