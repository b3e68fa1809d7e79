import { z } from 'zod';
import { itemIdSchema, jobIdSchema, jobNameSchema, labelsSchema, scraperIdSchema } from '../../contract/job-fields.ts';
import type { Digest } from '../../domain/artifact.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import { errorMessage } from '../../domain/error-message.ts';
import { MAX_ITEM_ID_LENGTH, type NewItem } from '../../domain/item.ts';
import type { JobRecord, NewJob } from '../../domain/job.ts';
import { notYetAvailable, policySchema } from '../../domain/policy.ts';
import { schemaProblems } from '../../domain/schema-problems.ts';
import { inputProblem, textProblem } from '../../domain/storable-input.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JobBook } from '../../ports/ledger.ts';
import { derivedItemId, isRecord } from '../intake/item-entry.ts';
import type { CatalogScraper, ScraperCatalog } from '../intake/scraper-catalog.ts';

/** So many are made in one step, in which nothing else happens. A request with more is read as it comes (`submit-stream.ts`). */
export const MAX_INLINE_ITEMS = 10_000;
const TOO_MANY_ITEMS = `more than ${MAX_INLINE_ITEMS} items are not made in one step`;

export const itemSchema = z.strictObject({
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
    scraper_id: scraperIdSchema.optional().meta({
      description: 'The scraper to run. Without one, the server runs its default scraper and says so in `warnings`.',
    }),
    items: z
      .array(itemSchema)
      .meta({ description: 'What it is to work on, any number of items. More can be added at any time.' })
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
export type Wanted = z.output<typeof submitSchema>;

export interface SubmitProblem {
  /** `items.3.input.apn`; empty where it is about no field. */
  readonly path: string;
  readonly message: string;
}

export type SubmitAnswer =
  /** The first of them; the last says how many more there are. */
  | { readonly kind: 'bad'; readonly problems: readonly SubmitProblem[] }
  | { readonly kind: 'created'; readonly job: JobRecord; readonly warnings: readonly SubmitProblem[] }
  /** The same request was sent before, with the same key: this is the job that it made. */
  | { readonly kind: 'replayed'; readonly job: JobRecord; readonly warnings: readonly SubmitProblem[] }
  /** Another request was sent before, with the same key. */
  | { readonly kind: 'key-reused'; readonly job: JobRecord }
  | { readonly kind: 'exists'; readonly job: JobRecord }
  /** An earlier job of that id is being deleted, and its results are not gone yet. */
  | { readonly kind: 'being-removed'; readonly job: JobRecord };

export interface SubmitParts {
  readonly ledger: Pick<JobBook, 'createJob' | 'job'>;
  readonly clock: Clock;
  readonly catalog: Pick<ScraperCatalog, 'find'>;
  readonly digest: Digest;
  /** Runs jobs that name no scraper. */
  readonly defaultScraper: string;
}

export const MAX_PROBLEMS = 100;
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
  const badKey = keyProblem(idempotencyKey);
  if (badKey !== null) return bad([badKey]);
  const submission = parts.digest(canonicalJson(request));
  const jobId = wanted.job_id ?? idFromKey(parts, idempotencyKey);
  if (idempotencyKey !== null) {
    // First of all: its scraper may have changed since, and the job was made all the same.
    const made = await parts.ledger.job(jobId);
    if (made !== null) return madeBefore(made, wanted, submission, idempotencyKey);
  }

  const found = await scraperFor(parts, wanted);
  if ('problem' in found) return bad([found.problem]);
  const { scraper } = found;
  const problems = items.flatMap(({ input }, index) => problemsOfInput(scraper, input, index));
  if (problems.length > 0) return bad(problems);

  const answer = await parts.ledger.createJob(newJobOf(wanted, jobId, scraper, submission), items, parts.clock.now());
  switch (answer.kind) {
    case 'created':
      return { ...answer, warnings: warningsAbout(wanted, answer.job) };
    case 'exists':
      return madeBefore(answer.job, wanted, submission, idempotencyKey);
    case 'duplicates':
      return bad(
        answer.repeated.map(({ index, first, differs }) =>
          repeatedProblem(items[index]?.itemId ?? '', index, first, differs),
        ),
      );
  }
}

export function newJobOf(wanted: Wanted, jobId: string, scraper: CatalogScraper, submission: string): NewJob {
  return {
    jobId,
    name: wanted.job_name ?? null,
    scraperId: scraper.id,
    scraperVersion: scraper.version,
    lane: scraper.lane,
    policy: wanted.execution_policy,
    labels: wanted.labels,
    held: wanted.hold,
    submission,
  };
}

export function keyProblem(key: string | null): SubmitProblem | null {
  if (key === null || (key !== '' && key.length <= MAX_KEY_LENGTH)) return null;
  return { path: 'Idempotency-Key', message: `must have 1 to ${MAX_KEY_LENGTH} characters` };
}

type Parsed =
  | { readonly wanted: Wanted; readonly items: readonly NewItem[] }
  | { readonly problems: readonly SubmitProblem[] };

/** All that can be said of a request without a look at anything else. */
export function parse(request: unknown): Parsed {
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
    const made = itemOf(item_id, inputGiven(given[index]) ?? copy, index);
    if ('item' in made) return made.item;
    problems.push(made.problem);
    return { itemId: '', input: {} };
  });
  return problems.length > 0 ? { problems } : { wanted, items };
}

/** The item that an entry stands for, if it can be kept and has an id. */
export function itemOf(
  given: string | undefined,
  input: NewItem['input'],
  index: number,
): { readonly item: NewItem } | { readonly problem: SubmitProblem } {
  const unsound = inputProblem(input);
  if (unsound !== null) return { problem: { path: pathOf(index, unsound.path), message: unsound.message } };
  const itemId = given ?? derivedItemId(input);
  const isUsable = itemId !== '' && itemId.length <= MAX_ITEM_ID_LENGTH && textProblem(itemId) === null;
  if (isUsable) return { item: { itemId, input } };
  const message = `is needed: the input makes none of 1 to ${MAX_ITEM_ID_LENGTH} characters`;
  return { problem: { path: `items.${index}.item_id`, message } };
}

export function inputGiven(item: unknown): Record<string, unknown> | null {
  const input = isRecord(item) ? item['input'] : null;
  return isRecord(input) ? input : null;
}

export function problemsOfInput(scraper: CatalogScraper, input: NewItem['input'], index: number): SubmitProblem[] {
  return scraper.problemsOf(input).map(({ path, message }) => ({ path: pathOf(index, path), message }));
}

function pathOf(index: number, field: string): string {
  return field === '' ? `items.${index}.input` : `items.${index}.input.${field}`;
}

/** Two items under one id: the message names both, and whether they are the same item sent twice. */
export function repeatedProblem(itemId: string, index: number, first: number, differs: boolean): SubmitProblem {
  const inputs = differs ? 'with a different input' : 'with the same input';
  return { path: `items.${index}.item_id`, message: `${itemId} was given before, ${inputs}: see items.${first}` };
}

export function idFromKey({ clock, digest }: Pick<SubmitParts, 'clock' | 'digest'>, key: string | null): string {
  return key === null ? clock.id() : `idem-${digest(JSON.stringify(key)).slice(0, 32)}`;
}

export function madeBefore(job: JobRecord, wanted: Wanted, submission: string, key: string | null): SubmitAnswer {
  if (job.removing) return { kind: 'being-removed', job };
  if (key === null) return { kind: 'exists', job };
  if (job.submission !== submission) return { kind: 'key-reused', job };
  return { kind: 'replayed', job, warnings: warningsAbout(wanted, job) };
}

/** What was done without having been asked for. */
export function warningsAbout({ scraper_id }: Wanted, { scraperId }: JobRecord): readonly SubmitProblem[] {
  if (scraper_id !== undefined) return [];
  return [{ path: 'scraper_id', message: `not given: the default scraper ${scraperId} is used` }];
}

/** The scraper that a request names, or the default one. */
export async function scraperFor(
  { catalog, defaultScraper }: Pick<SubmitParts, 'catalog' | 'defaultScraper'>,
  { scraper_id: id }: Pick<Wanted, 'scraper_id'>,
): Promise<{ readonly scraper: CatalogScraper } | { readonly problem: SubmitProblem }> {
  const found = await findScraper({ catalog }, id ?? defaultScraper);
  if (found.scraper !== undefined) return { scraper: found.scraper };
  const source = id === undefined ? ' (the default scraper: see TRAWL_DEFAULT_SCRAPER)' : '';
  return { problem: { path: 'scraper_id', message: `${found.problem}${source}` } };
}

export async function findScraper({ catalog }: Pick<SubmitParts, 'catalog'>, id: string) {
  try {
    const scraper = await catalog.find(id);
    return scraper === null ? { problem: `there is no scraper ${id}` } : { scraper };
  } catch (error) {
    return { problem: errorMessage(error) };
  }
}

/** `total`: how many there are, where not all of them were kept. */
export function bad(all: readonly SubmitProblem[], total = all.length): SubmitAnswer {
  const more = total - Math.min(all.length, MAX_PROBLEMS);
  if (more <= 0) return { kind: 'bad', problems: all };
  const rest = { path: '', message: `and ${more} more problem${more === 1 ? '' : 's'}` };
  return { kind: 'bad', problems: [...all.slice(0, MAX_PROBLEMS), rest] };
}
