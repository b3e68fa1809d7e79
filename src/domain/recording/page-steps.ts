import { z } from 'zod';
import { LIMITS } from './limits.ts';
import { SELECTORS, TARGET } from './selector.ts';
import { COMMON, NAVIGATES, TEXT } from './step-fields.ts';
import { COUNT_TEST, TEXT_TEST, URL_TEST } from './text-test.ts';

/** Steps that do something to the page or wait for it: navigation, interaction, wait. */

const acting = { ...TARGET, ...COMMON, ...NAVIGATES };

export const NAVIGATION_STEPS = [
  z
    .strictObject({
      type: z.literal('goto'),
      url: TEXT.min(1).describe('Absolute, or relative to the page that is open. Values in it are encoded.'),
      waitUntil: z
        .enum(['commit', 'domcontentloaded', 'load', 'networkidle'])
        .optional()
        .describe('When the page counts as open; otherwise as soon as its HTML is there.'),
      ...COMMON,
      ...NAVIGATES,
    })
    .describe('Opens an address.'),
  z.strictObject({ type: z.literal('back'), ...COMMON, ...NAVIGATES }).describe('Goes back in the history.'),
  z.strictObject({ type: z.literal('forward'), ...COMMON, ...NAVIGATES }).describe('Goes forward in the history.'),
  z.strictObject({ type: z.literal('reload'), ...COMMON, ...NAVIGATES }).describe('Loads the page again.'),
  z
    .strictObject({ type: z.literal('newTab'), url: TEXT.min(1).optional(), ...COMMON })
    .describe('Opens a tab, and goes on in it.'),
  z
    .strictObject({
      type: z.literal('switchTab'),
      to: z
        .union([z.enum(['first', 'latest']), z.int().min(0).max(50), z.strictObject({ url: URL_TEST })])
        .describe('The tab opened first or latest, its number from 0, or the address it shows.'),
      ...COMMON,
    })
    .describe('Goes on in another tab or pop-up, for which it waits.'),
  z.strictObject({ type: z.literal('closeTab'), ...COMMON }).describe('Closes the tab, and goes on in the one before.'),
] as const;

const file = z.discriminatedUnion('from', [
  z
    .strictObject({
      from: z.literal('artifact'),
      artifact: z.enum(['document', 'screenshot', 'data']).describe('What the item has kept so far.'),
      fileName: z.string().min(1).max(200).optional(),
    })
    .describe('Something that an earlier step of the item kept.'),
  z
    .strictObject({
      from: z.literal('inline'),
      base64: z.string().max(LIMITS.inlineFile).describe('The bytes; {{input.file}} takes them from the input.'),
      fileName: z.string().min(1).max(200),
      mediaType: z.string().min(1).max(100).optional(),
    })
    .describe('Bytes in the recording or in the input.'),
]);

const MODIFIERS = ['Alt', 'Control', 'Meta', 'Shift'] as const;

export const INTERACTION_STEPS = [
  z
    .strictObject({
      type: z.literal('click'),
      ...acting,
      button: z.enum(['left', 'middle', 'right']).optional().describe('Otherwise left.'),
      modifiers: z.array(z.enum(MODIFIERS)).max(4).optional().describe('Keys held down meanwhile.'),
      offset: z
        .strictObject({ x: z.number(), y: z.number() })
        .optional()
        .describe('From the top left corner of the element; ignored where it is outside of the element.'),
      holdMs: z.int().min(0).max(10_000).optional().describe('How long the button is held down.'),
    })
    .describe('Clicks an element.'),
  z
    .strictObject({
      type: z.literal('doubleClick'),
      ...acting,
      offset: z.strictObject({ x: z.number(), y: z.number() }).optional(),
    })
    .describe('Clicks an element twice.'),
  z.strictObject({ type: z.literal('hover'), ...acting }).describe('Moves the mouse over an element.'),
  z
    .strictObject({
      type: z.literal('type'),
      ...acting,
      text: TEXT,
      clear: z.boolean().optional().describe('Empties the control first.'),
      delayMs: z.int().min(0).max(1_000).optional().describe('Between two keys.'),
    })
    .describe('Types a text key by key, for pages that react to keys.'),
  z
    .strictObject({ type: z.literal('fill'), ...acting, value: TEXT })
    .describe('Sets the value of a form control at once; of a select, chooses the option with this value.'),
  z.strictObject({ type: z.literal('clear'), ...acting }).describe('Empties a form control.'),
  z
    .strictObject({
      type: z.literal('select'),
      ...acting,
      value: z
        .union([TEXT, z.array(TEXT).min(1).max(100)])
        .optional()
        .describe('Value of the option, or of several.'),
      label: TEXT.optional().describe('Text of the option.'),
      index: z.int().min(0).max(10_000).optional().describe('Number of the option, from 0.'),
    })
    .refine(({ value, label, index }) => [value, label, index].filter((each) => each !== undefined).length === 1, {
      message: 'needs exactly one of value, label and index',
    })
    .describe('Chooses an option of a select.'),
  z.strictObject({ type: z.literal('check'), ...acting }).describe('Ticks a checkbox or a radio button.'),
  z.strictObject({ type: z.literal('uncheck'), ...acting }).describe('Unticks a checkbox.'),
  z
    .strictObject({
      type: z.literal('press'),
      ...acting,
      selectors: SELECTORS.optional().describe('Otherwise whatever has the focus.'),
      key: TEXT.min(1).describe('A key by its name, with modifiers: `Enter`, `a`, `Control+A`.'),
    })
    .describe('Presses a key.'),
  z
    .strictObject({
      type: z.literal('scroll'),
      ...acting,
      selectors: SELECTORS.optional().describe('Scrolls to the element, or scrolls it where x or y are given.'),
      x: z.number().optional(),
      y: z.number().optional(),
      to: z.enum(['top', 'bottom']).optional(),
    })
    .describe('Scrolls the page, or an element.'),
  z
    .strictObject({ type: z.literal('drag'), ...acting, to: SELECTORS.describe('Where it is dropped.') })
    .describe('Drags an element onto another.'),
  z
    .strictObject({ type: z.literal('upload'), ...acting, files: z.array(file).min(1).max(10) })
    .describe('Chooses files in a file control. No file of the machine can be named.'),
  z
    .strictObject({
      type: z.literal('dialog'),
      action: z.enum(['accept', 'dismiss', 'answer']),
      text: TEXT.optional().describe('For `answer`: what is entered.'),
      ...COMMON,
    })
    .refine(
      ({ action, text }) => (action === 'answer') === (text !== undefined),
      'text belongs to `answer`, and to nothing else',
    )
    .describe('Says what happens with the next alert, confirm or prompt; it comes before the step that opens it.'),
] as const;

export const WAIT_STEPS = [
  z
    .strictObject({
      type: z.literal('waitForElement'),
      ...TARGET,
      ...COMMON,
      state: z.enum(['visible', 'hidden', 'attached']).optional().describe('Otherwise visible.'),
      count: COUNT_TEST.optional(),
      text: TEXT_TEST.optional(),
    })
    .describe('Waits for an element, for a number of them, or for its text.'),
  z
    .strictObject({
      type: z.literal('waitForText'),
      text: TEXT_TEST,
      gone: z.boolean().optional().describe('Waits until the page no longer says it.'),
      frame: TARGET.frame,
      within: TARGET.within,
      ...COMMON,
    })
    .describe('Waits until the page says this.'),
  z.strictObject({ type: z.literal('waitForUrl'), url: URL_TEST, ...COMMON }).describe('Waits for an address.'),
  z
    .strictObject({
      type: z.literal('waitForTime'),
      ms: z.int().min(0).max(LIMITS.pauseMs),
      name: COMMON.name,
    })
    .describe('Waits for a fixed time. Waiting for what is needed is faster and safer.'),
  z
    .strictObject({
      type: z.literal('waitForNetworkIdle'),
      idleMs: z.int().min(100).max(10_000).optional().describe('Otherwise 500.'),
      ...COMMON,
    })
    .describe('Waits until the page has not asked for anything for a while.'),
  z
    .strictObject({
      type: z.literal('waitForResponse'),
      url: URL_TEST,
      method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).optional(),
      status: z.int().min(100).max(599).optional(),
      ...COMMON,
    })
    .describe('Waits for an answer that the step before caused, even if it has come already.'),
  z
    .strictObject({ type: z.literal('waitForDownload'), ...COMMON })
    .describe('Waits for a file that an earlier step started to download.'),
  z
    .strictObject({ type: z.literal('waitForExpression'), expression: TEXT.min(1), ...COMMON })
    .describe('Waits until a JavaScript expression is true in the page. Refused unless the operator allows scripts.'),
] as const;
