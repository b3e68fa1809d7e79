import { z } from 'zod';
import { isPageName } from '../artifact.ts';
import { SELECTORS, TARGET } from './selector.ts';
import { COMMON, FAILURE, INTO, NAME, TEXT } from './step-fields.ts';
import { COUNT_TEST, PATTERN, TEXT_TEST, URL_TEST } from './text-test.ts';

/** Steps that read the page: extraction and assertion. */

const READ_PATTERN = PATTERN.optional().describe('A regular expression: its first group, or the whole match, is read.');

const reading = { ...TARGET, ...INTO, ...COMMON };

const needsPlace = [
  ({ field, variable }: { field?: string | undefined; variable?: string | undefined }) =>
    field !== undefined || variable !== undefined,
  { message: 'needs field or variable' },
] as const;

/** One value of a record in a list. */
const RECORD_FIELD = z
  .strictObject({
    selectors: SELECTORS.optional().describe('Inside of the row; otherwise the row itself.'),
    read: z
      .enum(['text', 'attribute', 'value', 'html', 'number', 'money', 'date'])
      .optional()
      .describe('Otherwise text.'),
    attribute: z.string().min(1).max(100).optional(),
    pattern: READ_PATTERN,
    optional: z.boolean().optional(),
  })
  .refine(({ read, attribute }) => (read === 'attribute') === (attribute !== undefined), {
    message: 'attribute belongs to read: attribute, and to nothing else',
  })
  .meta({ id: 'RecordField', description: 'One value of each row.' });
export type RecordField = z.output<typeof RECORD_FIELD>;

const COLUMN = z.strictObject({
  header: TEXT.min(1).describe('The header of the column, as the page writes it.'),
  read: z.enum(['text', 'number', 'money', 'date']).optional().describe('Otherwise text.'),
  optional: z.boolean().optional(),
});
export type TableColumn = z.output<typeof COLUMN>;

const PICTURE = {
  field: INTO.field.describe('Field of the data that says what was kept: kind, size, media type.'),
  ...COMMON,
};

export const EXTRACTION_STEPS = [
  z
    .strictObject({
      type: z.literal('extractText'),
      ...reading,
      all: z.boolean().optional(),
      lines: z
        .union([z.literal(true), TEXT])
        .optional()
        .describe('A list of the lines that a person sees; with a text, these lines joined by it.'),
      pattern: READ_PATTERN,
    })
    .refine(...needsPlace)
    .describe('Reads the text of an element, or with `all` a list of the texts of every match.'),
  z
    .strictObject({
      type: z.literal('extractAttribute'),
      ...reading,
      attribute: z.string().min(1).max(100),
      absolute: z.boolean().optional().describe('Makes an absolute URL of it.'),
      all: z.boolean().optional(),
      pattern: READ_PATTERN,
    })
    .refine(...needsPlace)
    .describe('Reads an attribute of an element.'),
  z
    .strictObject({ type: z.literal('extractValue'), ...reading })
    .refine(...needsPlace)
    .describe('Reads the value of a form control.'),
  z
    .strictObject({
      type: z.literal('extractHtml'),
      ...reading,
      selectors: SELECTORS.optional().describe('Otherwise the whole page.'),
      keepAs: z
        .string()
        .refine(isPageName, 'must be a name such as taxes: lower-case letters, digits, _ and -')
        .optional()
        .describe('Keeps it as a page of this name.'),
    })
    .refine(({ field, variable, keepAs }) => [field, variable, keepAs].some((each) => each !== undefined), {
      message: 'needs field, variable or keepAs',
    })
    .describe('Reads the HTML of an element or of the page.'),
  z
    .strictObject({ type: z.literal('extractNumber'), ...reading, pattern: READ_PATTERN })
    .refine(...needsPlace)
    .describe('Reads a number: `1,234.5`, `(3)`.'),
  z
    .strictObject({ type: z.literal('extractMoney'), ...reading, pattern: READ_PATTERN })
    .refine(...needsPlace)
    .describe('Reads an amount: `$1,129.60` is 1129.6.'),
  z
    .strictObject({ type: z.literal('extractDate'), ...reading, pattern: READ_PATTERN })
    .refine(...needsPlace)
    .describe('Reads a date: `1/5/2025` is 2025-01-05.'),
  z
    .strictObject({
      type: z.literal('extractTable'),
      ...reading,
      columns: z
        .record(NAME, COLUMN)
        .optional()
        .describe('Which columns, by the name each gets; otherwise all, by their headers.'),
    })
    .refine(...needsPlace)
    .describe('Reads a table as a list of records.'),
  z
    .strictObject({
      type: z.literal('extractRecords'),
      ...reading,
      selectors: SELECTORS.describe('The rows.'),
      fields: z.record(NAME, RECORD_FIELD).refine((fields) => Object.keys(fields).length > 0, 'must name a field'),
      max: z.int().min(1).max(10_000).optional().describe('Reads at most so many rows.'),
    })
    .refine(...needsPlace)
    .describe('Reads a list of records, one for each row.'),
  z
    .strictObject({
      type: z.literal('extractJson'),
      ...INTO,
      ...COMMON,
      selectors: SELECTORS.optional().describe('A script element with JSON.'),
      frame: TARGET.frame,
      within: TARGET.within,
      response: URL_TEST.optional().describe('The answer to a request of the page with this address.'),
      pointer: TEXT.regex(/^(?:\/[^/]*)*$/, 'must be a JSON pointer such as /parcel/0/owner')
        .optional()
        .describe('A JSON pointer to the part to read: `/parcel/0/owner`.'),
    })
    .refine(...needsPlace)
    .refine(({ selectors, response }) => (selectors === undefined) !== (response === undefined), {
      message: 'needs either selectors or response',
    })
    .describe('Reads JSON in the page or in an answer that the page received.'),
  z
    .strictObject({
      type: z.literal('screenshot'),
      ...PICTURE,
      selectors: SELECTORS.optional().describe('Otherwise the window.'),
      frame: TARGET.frame,
      within: TARGET.within,
      fullPage: z.boolean().optional(),
    })
    .describe('Keeps a picture of the page or of an element.'),
  z.strictObject({ type: z.literal('pdf'), ...PICTURE }).describe('Keeps the page as a PDF.'),
  z
    .strictObject({
      type: z.literal('download'),
      ...PICTURE,
      selectors: SELECTORS.optional().describe('What is clicked to get it.'),
      frame: TARGET.frame,
      within: TARGET.within,
      url: TEXT.min(1).optional().describe('Where it is.'),
      optional: INTO.optional,
    })
    .refine(
      ({ selectors, url }) => selectors === undefined || url === undefined,
      'needs at most one of selectors and url',
    )
    .describe('Keeps a document: by a click, by its address, or the one that an earlier step started.'),
] as const;

const asserting = {
  failure: FAILURE.optional(),
  message: z.string().min(1).max(500).optional().describe('What the failure says.'),
  ...COMMON,
};

export const ASSERTION_STEPS = [
  z
    .strictObject({
      type: z.literal('assertText'),
      ...TARGET,
      selectors: SELECTORS.optional().describe('Otherwise the page.'),
      text: TEXT_TEST,
      ...asserting,
    })
    .describe('Fails unless the page, or the element, says this.'),
  z
    .strictObject({
      type: z.literal('assertElement'),
      ...TARGET,
      state: z.enum(['visible', 'hidden', 'attached']).optional().describe('Otherwise visible.'),
      ...asserting,
    })
    .describe('Fails unless the element is there.'),
  z
    .strictObject({ type: z.literal('assertCount'), ...TARGET, count: COUNT_TEST, ...asserting })
    .describe('Fails unless so many elements match.'),
  z
    .strictObject({ type: z.literal('assertUrl'), url: URL_TEST, ...asserting })
    .describe('Fails unless the page has this address.'),
  z
    .strictObject({
      type: z.literal('assertSameItem'),
      ...TARGET,
      value: TEXT.min(1).describe('What identifies the item: `{{input.apn}}`.'),
      compare: z
        .enum(['alphanumeric', 'digits', 'exact'])
        .optional()
        .describe('Which characters count; otherwise letters and digits, in any case.'),
      ...asserting,
    })
    .describe("Fails as navigation_failed if the page is another item's."),
] as const;
