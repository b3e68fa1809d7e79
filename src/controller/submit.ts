import { z } from 'zod';
import type { Digest } from '../domain/artifact.ts';
import type { NewItem } from '../domain/item.ts';
import type { JobRecord, NewJob } from '../domain/job.ts';
import { notYetAvailable, policySchema } from '../domain/policy.ts';
import { schemaProblems } from '../domain/schema-problems.ts';
import type { Clock } from '../ports/clock.ts';
import type { JobBook } from '../ports/ledger.ts';
import { canonicalJson } from './canonical-json.ts';
import { derivedItemId, isRecord, MAX_ITEM_ID_LENGTH } from './item-entry.ts';
import { itemIdSchema, jobIdSchema, jobNameSchema, labelsSchema, scraperIdSchema } from './job-fields.ts';
import type { CatalogScraper, ScraperCatalog } from './scraper-catalog.ts';
import { inputProblem, textProblem } from './storable.ts';

/** A job is made in one step, and nothing else happens meanwhile. */
export const MAX_INLINE_ITEMS = 10_000;
const TOO_MANY_ITEMS = `${MAX_INLINE_ITEMS} items at the most: make the job first, and send them to POST /jobs/{id}/items`;

const itemSchema = z.strictObject({
  item_id: itemIdSchema
    .optional()
    .meta({ description: 'Unique within the job. Without one it follows from the input.' }),
  input: z.record(z.string(), z.unknown()).meta({ description: 'What the scraper wants: see its input_schema.' }),
});

/** What a user asks for. Unknown fields are refused by name; nothing is half made. */
export const submitSchema = z
  .strictObject({
    job_id: jobIdSchema.optional().meta({ description: 'Without one it is made up.' }),
    job_name: jobNameSchema.optional().meta({ description: 'What people call it.' }),
    scraper_id: scraperIdSchema.meta({ description: 'The scraper that is to run.' }),
    items: z
      .array(itemSchema)
      .max(MAX_INLINE_ITEMS, { error: TOO_MANY_ITEMS })
      .meta({ description: 'What it is to work on. More can be added at any time.' })
      .default([]),
    execution_policy: policySchema
      .meta({
        id: 'NewPolicy',
        description: 'What the job is allowed to do. What is not named is as the defaults say.',
      })
      .prefault({}),
    labels: labelsSchema.meta({ description: 'Words of your own, by name. They come back with the job.' }).default({}),
    hold: z.boolean().meta({ description: 'Take items, and wait for start.' }).default(false),
  })
  .meta({ id: 'NewJob', description: 'A job to make.' });

export type SubmitRequest = z.input<typeof submitSchema>;
type Wanted = z.output<typeof submitSchema>;

export interface SubmitProblem {
  /** `items.3.input.apn`; empty where it is about no field. */
  readonly path: string;
  readonly message: string;
}

export type SubmitAnswer =
  /** The first of them; the last says how many more there are. */
  | { readonly kind: 'bad'; readonly problems: readonly SubmitProblem[] }
  | { readonly kind: 'created'; readonly job: JobRecord }
  /** The same request was sent before, with the same key: this is the job that it made. */
  | { readonly kind: 'replayed'; readonly job: JobRecord }
  /** Another request was sent before, with the same key. */
  | { readonly kind: 'key-reused'; readonly job: JobRecord }
  | { readonly kind: 'exists'; readonly job: JobRecord };

export interface SubmitParts {
  readonly ledger: Pick<JobBook, 'createJob' | 'job'>;
  readonly clock: Clock;
  readonly catalog: Pick<ScraperCatalog, 'find'>;
  readonly digest: Digest;
}

const MAX_PROBLEMS = 100;
const MAX_KEY_LENGTH = 255;

/**
 * Makes the job, or says all that is wrong with the request. A request that is sent again with the same
 * `idempotencyKey`, because its answer was lost, makes no second job.
 */
export async function submitJob(
  parts: SubmitParts,
  request: unknown,
  idempotencyKey: string | null,
): Promise<SubmitAnswer> {
  const parsed = parse(request);
  if ('problems' in parsed) return bad(parsed.problems);
  const { wanted, items } = parsed;
  if (idempotencyKey !== null && (idempotencyKey === '' || idempotencyKey.length > MAX_KEY_LENGTH)) {
    return bad([{ path: 'Idempotency-Key', message: `must have 1 to ${MAX_KEY_LENGTH} characters` }]);
  }
  const submission = parts.digest(canonicalJson(request));
  const jobId = wanted.job_id ?? idFromKey(parts, idempotencyKey);
  if (idempotencyKey !== null) {
    // First of all: its scraper may have changed since, and the job was made all the same.
    const made = await parts.ledger.job(jobId);
    if (made !== null) return madeBefore(made, submission, idempotencyKey);
  }

  const found = await findScraper(parts, wanted.scraper_id);
  if ('problem' in found) return bad([{ path: 'scraper_id', message: found.problem }]);
  const { scraper } = found;
  const problems = items.flatMap(({ input }, index) => problemsOfInput(scraper, input, index));
  if (problems.length > 0) return bad(problems);

  const job: NewJob = {
    jobId,
    name: wanted.job_name ?? null,
    scraperId: wanted.scraper_id,
    scraperVersion: scraper.version,
    lane: scraper.lane,
    policy: wanted.execution_policy,
    labels: wanted.labels,
    held: wanted.hold,
    submission,
  };
  const answer = await parts.ledger.createJob(job, items, parts.clock.now());
  switch (answer.kind) {
    case 'created':
      return answer;
    case 'exists':
      return madeBefore(answer.job, submission, idempotencyKey);
    case 'duplicates':
      return bad(
        answer.indexes.map((index) => ({
          path: `items.${index}.item_id`,
          message: `${items[index]?.itemId} stands earlier in the list`,
        })),
      );
  }
}

type Parsed =
  | { readonly wanted: Wanted; readonly items: readonly NewItem[] }
  | { readonly problems: readonly SubmitProblem[] };

/** All that can be said of a request without a look at anything else. */
function parse(request: unknown): Parsed {
  const given = isRecord(request) && Array.isArray(request['items']) ? request['items'] : [];
  // Before each of them is looked at.
  if (given.length > MAX_INLINE_ITEMS) return { problems: [{ path: 'items', message: TOO_MANY_ITEMS }] };
  const parsed = submitSchema.safeParse(request);
  if (!parsed.success) return { problems: schemaProblems(parsed.error) };
  const wanted = parsed.data;
  const missing = notYetAvailable(wanted.execution_policy);
  const problems = missing.map((each) => ({ ...each, path: `execution_policy.${each.path}` }));
  if (isRecord(request) && isRecord(request['labels']) && Object.hasOwn(request['labels'], '__proto__')) {
    problems.push({ path: 'labels.__proto__', message: 'no label can have this name' });
  }
  const items = wanted.items.map(({ item_id, input: copy }, index) => {
    // As it was given: a record that was parsed has lost what is called __proto__.
    const input = inputGiven(given[index]) ?? copy;
    const unsound = inputProblem(input);
    if (unsound !== null) {
      problems.push({ path: pathOf(index, unsound.path), message: unsound.message });
      return { itemId: '', input };
    }
    const itemId = item_id ?? derivedItemId(input);
    const isUsable = itemId !== '' && itemId.length <= MAX_ITEM_ID_LENGTH && textProblem(itemId) === null;
    if (!isUsable) {
      const message = `is needed: the input makes none of 1 to ${MAX_ITEM_ID_LENGTH} characters`;
      problems.push({ path: `items.${index}.item_id`, message });
    }
    return { itemId, input };
  });
  return problems.length > 0 ? { problems } : { wanted, items };
}

function inputGiven(item: unknown): Record<string, unknown> | null {
  const input = isRecord(item) ? item['input'] : null;
  return isRecord(input) ? input : null;
}

function problemsOfInput(scraper: CatalogScraper, input: NewItem['input'], index: number): SubmitProblem[] {
  return scraper.problemsOf(input).map(({ path, message }) => ({ path: pathOf(index, path), message }));
}

function pathOf(index: number, field: string): string {
  return field === '' ? `items.${index}.input` : `items.${index}.input.${field}`;
}

function idFromKey({ clock, digest }: SubmitParts, key: string | null): string {
  return key === null ? clock.id() : `idem-${digest(JSON.stringify(key)).slice(0, 32)}`;
}

function madeBefore(job: JobRecord, submission: string, key: string | null): SubmitAnswer {
  if (key === null) return { kind: 'exists', job };
  return { kind: job.submission === submission ? 'replayed' : 'key-reused', job };
}

async function findScraper({ catalog }: SubmitParts, id: string) {
  try {
    const scraper = await catalog.find(id);
    return scraper === null ? { problem: `there is no scraper ${id}` } : { scraper };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

function bad(all: readonly SubmitProblem[]): SubmitAnswer {
  const more = all.length - MAX_PROBLEMS;
  if (more <= 0) return { kind: 'bad', problems: all };
  const rest = { path: '', message: `and ${more} more problem${more === 1 ? '' : 's'}` };
  return { kind: 'bad', problems: [...all.slice(0, MAX_PROBLEMS), rest] };
}
