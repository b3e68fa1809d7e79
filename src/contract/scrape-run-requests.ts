import { z } from 'zod';
import {
  MAX_RUN_URL_BYTES,
  RUN_ENDS,
  RUN_ITEM_STATES,
  RUN_SORTS,
  RUN_STATUSES,
  type RunChange,
  type RunItemUpdate,
} from '../domain/scrape-run.ts';
import { textProblem } from '../domain/storable-input.ts';
import { flagOr, whole } from './query-fields.ts';

/** Requests about scrape runs. Their fields have the names that ETL servers use. */

export const runPath = z.strictObject({
  run_id: z.string().min(1).max(200).meta({ description: 'The id of the run (`_id`).' }),
});

/** More would be cut into several requests by any client; the rest is for batches of long URLs. */
const MAX_UPDATES = 1000;
export const MAX_UPDATE_BYTES = 16 * 2 ** 20;

const storable = (text: string, context: z.RefinementCtx<string>) => {
  const problem = textProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
};

/** Not normalised: a client that asks for a URL uses the text that it sent. */
const url = z
  .string()
  .superRefine((text, context) => {
    if (textProblem(text) !== null) storable(text, context);
    else if (new TextEncoder().encode(text).length > MAX_RUN_URL_BYTES) {
      context.addIssue({ code: 'custom', message: `must have at most ${MAX_RUN_URL_BYTES} bytes` });
    } else if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
      context.addIssue({ code: 'custom', message: 'must be an absolute http or https URL' });
    }
  })
  .meta({ description: 'URL of the item, compared as it was given. At most 4,096 bytes.' });

const domain = z.string().min(1).max(255).superRefine(storable);

/** Times that can be written as they are read, with four digits of a year. */
const LAST_INSTANT = Date.parse('9999-12-31T00:00:00Z');
const instant = z.iso
  .datetime({ offset: true, abort: true })
  .refine((text) => Date.parse(text) >= 0 && Date.parse(text) <= LAST_INSTANT, 'must be between 1970 and 9999');

export const runItemSchema = z.strictObject({ url });

const itemsOfRun = z
  .array(runItemSchema)
  .meta({ description: 'Any number of URLs. One that occurs twice is one item.' });

const createFields = {
  domain: domain.meta({ description: 'The domain that the run is about. At most 255 characters.' }),
  source: z
    .string()
    .min(1)
    .max(200)
    .superRefine(storable)
    .optional()
    .meta({ description: 'What started the run, such as `manual` or `scheduled`.' }),
  metadata: z
    .strictObject({ started_at: instant.meta({ description: 'When the run started; by default now.' }) })
    .optional()
    .meta({ description: 'The start of the run.' }),
};

export const createRunSchema = z
  .strictObject({ ...createFields, items: itemsOfRun.optional() })
  .meta({ id: 'CreateScrapeRun', description: 'A scrape run to create.' });

export const addRunItemsSchema = z
  .strictObject({ items: itemsOfRun.min(1) })
  .meta({ id: 'AddScrapeRunItems', description: 'Items to add to a scrape run.' });

/** Whether an answer includes the items: other clients of such servers rely on them, so that is the default. */
const withItems = flagOr(
  true,
  'Include the items. With `false`, runs have no `items`, which makes answers about large runs small; `counts` is always there.',
);

export const runQuery = z.strictObject({ items: withItems });

export const listRunsQuery = z.strictObject({
  domain: z.string().min(1).max(255).optional().meta({ description: 'Only runs of this domain.' }),
  status: z.enum(RUN_STATUSES).optional().meta({ description: 'Only runs with this status.' }),
  limit: whole(1, 100, 'Maximum number of runs per page.').default(20),
  page: whole(1, 1_000_000, 'Number of the page, from 1.').default(1),
  sortBy: z
    .enum(RUN_SORTS)
    .meta({ description: 'What to sort by. Runs that have not ended come last by `endTime`.' })
    .default('createdAt'),
  sortOrder: z.enum(['asc', 'desc']).meta({ description: 'Direction of the order.' }).default('desc'),
  items: withItems,
});

export const runItemsQuery = z.strictObject({
  status: z.enum(RUN_ITEM_STATES).optional().meta({ description: 'Only items in this state.' }),
  limit: whole(1, 5000, 'Maximum number of items per page.').default(1000),
  cursor: z.string().min(1).max(1000).optional().meta({ description: '`next_cursor` of the previous page.' }),
});

const changes = z
  .strictObject({
    done: z.boolean().optional().meta({ description: 'Whether the item was scraped.' }),
    failed: z.boolean().optional().meta({ description: 'Whether it failed.' }),
    invalid: z.boolean().optional().meta({ description: 'Whether the input is at fault.' }),
    failedReason: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'Why it failed; null for no reason. Longer ones are cut to 1,000 characters.' }),
  })
  .meta({ description: 'The fields to change. All others keep their values.' });

const itemUpdate = z.strictObject({ url, changes });

const tally = (description: string) => z.int().min(0).optional().meta({ description });

const metadata = z
  .strictObject({
    started_at: instant.optional().meta({ description: 'When the run started.' }),
    finished_at: instant.nullable().optional().meta({ description: 'When it finished.' }),
    finished_count: tally('Items that were scraped.'),
    total_count: tally('Items of the run.'),
    failed_count: tally('Items that failed, including invalid ones.'),
  })
  .meta({ description: 'Figures of the run. Those that are left out are counted by the server.' });

const ONE_CHANGE = 'send exactly one of updateItem, updateItems, and status or finalize';

export const changeRunSchema = z
  .strictObject({
    updateItem: itemUpdate.optional().meta({ description: 'A change of one item.' }),
    updateItems: z
      .array(itemUpdate)
      .min(1)
      .max(MAX_UPDATES)
      .optional()
      .meta({ description: 'Changes of several items, applied in order.' }),
    status: z
      .enum([...RUN_ENDS, 'processing'])
      .optional()
      .meta({ description: 'How the run ends. `processing` reopens a run that has ended.' }),
    finalize: z.literal(true).optional().meta({ description: 'Ends the run; the same as `status: "finished"`.' }),
    endTime: instant.optional().meta({ description: 'When the run ended; by default now.' }),
    metadata: metadata.optional(),
  })
  .superRefine(({ updateItem, updateItems, status, finalize, endTime, metadata: figures }, context) => {
    const report = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const isAboutRun = status !== undefined || finalize !== undefined;
    const kinds = [updateItem !== undefined, updateItems !== undefined, isAboutRun].filter(Boolean).length;
    if (kinds !== 1) report([], ONE_CHANGE);
    const isEnd = isAboutRun && status !== 'processing';
    if (!isEnd && endTime !== undefined) report(['endTime'], 'is only for the end of a run');
    if (!isEnd && figures !== undefined) report(['metadata'], 'is only for the end of a run');
    if (status === 'processing' && finalize) report(['finalize'], 'contradicts the status processing');
  })
  .meta({ id: 'ChangeScrapeRun', description: 'A change of items, or of the run itself.' });

export type RunPatch =
  | { readonly kind: 'items'; readonly updates: readonly RunItemUpdate[]; readonly isBatch: boolean }
  | { readonly kind: 'run'; readonly change: RunChange };

/** What a valid request asks for. */
export function readRunPatch(request: z.output<typeof changeRunSchema>, now: number): RunPatch {
  const { updateItem, updateItems, status, endTime, metadata: figures = {} } = request;
  if (updateItem !== undefined) return { kind: 'items', updates: [updateItem], isBatch: false };
  if (updateItems !== undefined) return { kind: 'items', updates: updateItems, isBatch: true };
  if (status === 'processing') return { kind: 'run', change: { kind: 'reopen' } };
  const endedAt = endTime === undefined ? now : Date.parse(endTime);
  return { kind: 'run', change: { kind: 'end', status: status ?? 'finished', endedAt, metadata: figures } };
}
