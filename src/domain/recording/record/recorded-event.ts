import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import type { Frame } from '../selector.ts';

/**
 * What a person does in a browser, as the recorder sees it. Events of pages come from scripts in pages, which pages can
 * imitate: they are parsed strictly, and nothing but data comes of them.
 */

const selector = z.string().min(1).max(LIMITS.selector);

const ELEMENT = z.strictObject({
  /** The same for the same element of the same document. */
  ref: z.string().min(1).max(60),
  /** Whether text is typed into it. */
  isText: z.boolean(),
  /** Alternatives, the best first; a list leads through shadow roots. */
  selectors: z
    .array(z.union([selector, z.array(selector).min(1).max(20)]))
    .min(1)
    .max(LIMITS.alternatives),
});
export type RecordedElement = z.output<typeof ELEMENT>;

const text = z.string().max(LIMITS.text);
const at = z.number().finite();

export const PAGE_EVENT = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('click'),
    at,
    element: ELEMENT,
    button: z.enum(['left', 'middle']),
    modifiers: z.array(z.enum(['Alt', 'Control', 'Meta', 'Shift'])).max(4),
    /** Made by the browser for a key, such as Enter in a form. */
    isByKey: z.boolean(),
    /** Only where it matters, as in a map. */
    offset: z.strictObject({ x: z.number().finite(), y: z.number().finite() }).nullable(),
  }),
  z.strictObject({ type: z.literal('doubleClick'), at, element: ELEMENT }),
  z.strictObject({ type: z.literal('fill'), at, element: ELEMENT, value: text }),
  /** Something was typed that must not be recorded; the page does not say what. */
  z.strictObject({ type: z.literal('secret'), at, element: ELEMENT }),
  z.strictObject({ type: z.literal('select'), at, element: ELEMENT, values: z.array(text).max(100) }),
  z.strictObject({ type: z.literal('check'), at, element: ELEMENT, checked: z.boolean() }),
  z.strictObject({ type: z.literal('press'), at, element: ELEMENT.nullable(), key: z.string().min(1).max(50) }),
  z.strictObject({ type: z.literal('files'), at, element: ELEMENT }),
  z.strictObject({ type: z.literal('drop'), at }),
]);
export type PageEvent = z.output<typeof PAGE_EVENT>;

/** Tabs have numbers, from 0 for the one that the recording begins in. */
export type TabEvent =
  | { readonly type: 'opened'; readonly opener: number | null }
  | { readonly type: 'closed' }
  /** Another document came. `followed`: by something in the page, not by the browser's own controls. */
  | { readonly type: 'went'; readonly url: string; readonly how: 'typed' | 'back' | 'forward' | 'reload' | 'followed' }
  | { readonly type: 'download' }
  /** Something that is not a page, such as a PDF, is shown in the tab. */
  | { readonly type: 'document' }
  | { readonly type: 'dialog'; readonly kind: string; readonly isAccepted: boolean; readonly text: string };

export type RecordedEvent =
  | (PageEvent & { readonly tab: number; readonly frame: Frame | null })
  | (TabEvent & { readonly tab: number; readonly at: number });
