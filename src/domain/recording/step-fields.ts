import { z } from 'zod';
import { FAILURES, type FailureType } from '../failure.ts';
import { LIMITS, PROTOTYPE_NAMES } from './limits.ts';
import { URL_TEST } from './text-test.ts';

/** Fields that several kinds of steps have. */

export const TEXT = z.string().max(LIMITS.text);

/** What every step may say of itself. */
export const COMMON = {
  name: z.string().min(1).max(200).optional().describe('What the step is for; messages show it.'),
  timeoutMs: z
    .int()
    .min(0)
    .max(LIMITS.timeoutMs)
    .optional()
    .describe("How long the step may take; otherwise the recording's `timeouts.stepMs`."),
};

/** For steps that may lead to another page. */
export const NAVIGATES = {
  navigation: z
    .strictObject({ url: URL_TEST.optional(), title: TEXT.optional() })
    .optional()
    .describe('The step leads to another page, and is done when that page has come; `url` and `title` say which one.'),
};

/** A name under which something is kept; never one that leads to a prototype. */
export const NAME = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_-]{0,99}$/, 'must be a name: a letter, then letters, digits, _ and -')
  .refine((name) => !PROTOTYPE_NAMES.has(name), 'is a name that cannot be used');

/** `owner`, or `owner.name` for a field in an object. */
export const FIELD = z
  .string()
  .max(200)
  .regex(
    /^[A-Za-z_][A-Za-z0-9_-]{0,99}(?:\.[A-Za-z_][A-Za-z0-9_-]{0,99}){0,4}$/,
    'must be a name such as owner, or names joined by dots',
  )
  .refine((path) => !path.split('.').some((name) => PROTOTYPE_NAMES.has(name)), 'is a name that cannot be used');

/** Where an extraction puts what it read. */
export const INTO = {
  field: FIELD.optional().describe('Field of the data; dots make objects: `owner.name`.'),
  variable: NAME.optional().describe('For later steps, as {{vars.NAME}}.'),
  optional: z.boolean().optional().describe('If it is not on the page, the field is null instead of a failure.'),
};

/** Failures that a page can mean. */
export const PAGE_FAILURES = [
  ...(['no_results', 'not_found', 'blocked', 'rate_limited', 'maintenance', 'structure_changed'] as const),
  ...(['navigation_failed', 'server_error', 'invalid_input', 'timeout'] as const),
] as const satisfies readonly FailureType[];

export type PageFailure = (typeof PAGE_FAILURES)[number];

export const FAILURE = z
  .enum(PAGE_FAILURES)
  .describe(`The failure of the item: ${PAGE_FAILURES.map((type) => `${type} (${FAILURES[type].when})`).join('; ')}.`);
