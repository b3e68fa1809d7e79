import type { Frame, FrameLocator, Locator, Page } from 'playwright-core';
import type { SelectorPart } from '../../../domain/recording/selector.ts';
import { NoMatch } from '../engine.ts';
import type { Wanted } from '../wanted.ts';

/** Where locators begin. */
type Root = Page | Frame | FrameLocator | Locator;

/** What an alternative matches in the page that is open. */
export interface Located {
  /** All matches. */
  readonly all: Locator;
  readonly alternative: number;
}

/**
 * The first alternative, in their order, that matches now; null if none does. Playwright's `or` is of no use here: it takes
 * whichever comes first in the page.
 */
export async function locate(page: Page, wanted: Wanted, state: 'attached' | 'visible'): Promise<Located | null> {
  const root = await scopeOf(page, wanted);
  if (root === null) return null;
  for (const [alternative, parts] of wanted.alternatives.entries()) {
    const found = await locateParts(root, parts);
    if (found === null) continue;
    const all = state === 'visible' ? found.filter({ visible: true }) : found;
    if (state === 'visible' && (await countOf(all)) === 0) continue;
    return { all: wanted.nth === null ? all : found.nth(wanted.nth), alternative };
  }
  return null;
}

async function scopeOf(page: Page, { within, frame }: Wanted): Promise<Root | null> {
  const root = frame.length === 0 ? page : await frameAt(page, frame);
  if (within === null) return root;
  const scope = await locate(page, within, 'attached');
  return scope === null ? null : scope.all.first();
}

export async function frameAt(page: Page, path: Wanted['frame']): Promise<Frame> {
  let frame = page.mainFrame();
  for (const step of path) {
    if (typeof step === 'number') {
      frame = frame.childFrames()[step] ?? noFrame();
      continue;
    }
    const element = await locateParts(frame, [step]);
    const handle = await element?.first().elementHandle({ timeout: HANDLE_MS });
    frame = (await handle?.contentFrame()) ?? noFrame();
  }
  return frame;
}

/** It was there a moment ago. */
const HANDLE_MS = 1000;

function noFrame(): never {
  throw new NoMatch({ alternatives: [[]], nth: null, frame: [], within: null, described: 'the frame' });
}

/** Each part is looked for below the one before; Playwright's CSS looks into open shadow roots by itself. */
async function locateParts(root: Root, parts: readonly SelectorPart[]): Promise<Locator | null> {
  let at = root;
  let found: Locator | null = null;
  for (const part of parts) {
    found = null;
    for (const candidate of candidatesFor(at, part)) {
      if ((await countOf(candidate)) > 0) {
        found = candidate;
        break;
      }
    }
    if (found === null) return null;
    at = found;
  }
  return found;
}

/** A selector that a browser cannot read matches nothing: another alternative may. */
async function countOf(locator: Locator): Promise<number> {
  try {
    return await locator.count();
  } catch (error) {
    if (
      error instanceof Error &&
      /selector|Unexpected token|evaluat/i.test(error.message) &&
      !/closed|crashed|destroyed/i.test(error.message)
    )
      return 0;
    throw error;
  }
}

/** In order: what has exactly this name or text, then what contains it, as without a browser. */
function candidatesFor(root: Root, part: SelectorPart): readonly Locator[] {
  switch (part.kind) {
    case 'css':
    case 'pierce':
      return [root.locator(`css=${part.value}`)];
    case 'xpath':
      return [root.locator(`xpath=${isLocator(root) && part.value.startsWith('/') ? `.${part.value}` : part.value}`)];
    case 'testid':
      return [root.locator(`css=[data-testid=${JSON.stringify(part.value)}]`)];
    case 'text':
      return [root.getByText(part.value, { exact: true }), root.getByText(part.value)];
    case 'label':
      return [root.getByLabel(part.value, { exact: true }), root.getByLabel(part.value)];
    case 'role':
      return byRole(root, part.role, part.name);
    case 'aria':
      return part.role === null
        ? [true, false].map((exact) => named(root, part.name, exact))
        : byRole(root, part.role, part.name);
  }
}

type Role = Parameters<Page['getByRole']>[0];

function byRole(root: Root, role: string, name: string | null): readonly Locator[] {
  // Roles of recordings are texts; one that there is not matches nothing.
  const known = role as Role;
  if (name === null) return [root.getByRole(known)];
  return [root.getByRole(known, { name, exact: true }), root.getByRole(known, { name })];
}

const NAMED_ROLES: readonly Role[] = [
  ...([
    'button',
    'link',
    'textbox',
    'searchbox',
    'combobox',
    'checkbox',
    'radio',
    'option',
    'tab',
    'menuitem',
  ] as const),
  ...(['heading', 'cell', 'columnheader', 'img', 'spinbutton', 'switch', 'row', 'listbox', 'slider'] as const),
];

/** By the accessible name alone, as the Chrome Recorder writes it. All of them are one alternative, so their order is the page's. */
function named(root: Root, name: string, exact: boolean): Locator {
  const [first = root.getByText(name, { exact }), ...others] = [
    ...NAMED_ROLES.map((role) => root.getByRole(role, { name, exact })),
    root.getByLabel(name, { exact }),
    root.getByAltText(name, { exact }),
    root.getByTitle(name, { exact }),
    root.getByPlaceholder(name, { exact }),
  ];
  return others.reduce((all, each) => all.or(each), first);
}

function isLocator(root: Root): root is Locator {
  return 'elementHandle' in root;
}
