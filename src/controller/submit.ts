import { z } from 'zod';
import type { ItemInput, NewItem } from '../domain/item.ts';
import type { Lane } from '../domain/lane.ts';
import { notYetAvailable, policySchema } from '../domain/policy.ts';
import type { Clock } from '../ports/clock.ts';
import type { Faults } from '../ports/faults.ts';
import type { AddAnswer, CreateAnswer, ItemBook, JobBook } from '../ports/ledger.ts';

/** What a user asks for. Unknown fields are refused by name; nothing is half made. */
export const submitSchema = z.strictObject({
  job_id: z.string().min(1).max(200).optional(),
  job_name: z.string().max(500).optional(),
  scraper_id: z.string().min(1).max(200),
  items: z
    .array(
      z.strictObject({ item_id: z.string().min(1).max(1000).optional(), input: z.record(z.string(), z.unknown()) }),
    )
    .default([]),
  execution_policy: policySchema.prefault({}),
  labels: z.record(z.string().max(100), z.string().max(500)).default({}),
  hold: z.boolean().default(false),
});

export type SubmitRequest = z.input<typeof submitSchema>;

export interface SubmitProblem {
  readonly path: string;
  readonly message: string;
}

export type SubmitAnswer =
  | { readonly kind: 'bad'; readonly problems: readonly SubmitProblem[] }
  | Exclude<CreateAnswer, { kind: 'duplicates' }>;

export interface SubmitParts {
  readonly ledger: JobBook;
  readonly clock: Clock;
  /** Null for a scraper that is not there; rejects for one that cannot be used, and says why. */
  readonly findScraper: (id: string) => Promise<{ readonly version: string; readonly lane: Lane } | null>;
}

export async function submitJob(parts: SubmitParts, request: unknown): Promise<SubmitAnswer> {
  const parsed = submitSchema.safeParse(request);
  if (!parsed.success) {
    return {
      kind: 'bad',
      problems: parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
    };
  }
  const wanted = parsed.data;
  const missing = notYetAvailable(wanted.execution_policy);
  if (missing.length > 0) {
    return { kind: 'bad', problems: missing.map((each) => ({ ...each, path: `execution_policy.${each.path}` })) };
  }
  const found = await findScraper(parts, wanted.scraper_id);
  if ('problem' in found) return bad('scraper_id', found.problem);
  const { scraper } = found;

  const job = {
    jobId: wanted.job_id ?? parts.clock.id(),
    name: wanted.job_name ?? null,
    scraperId: wanted.scraper_id,
    scraperVersion: scraper.version,
    lane: scraper.lane,
    policy: wanted.execution_policy,
    labels: wanted.labels,
    held: wanted.hold,
  };
  const items = wanted.items.map(({ item_id, input }) => ({ itemId: item_id ?? derivedItemId(input), input }));
  const answer = await parts.ledger.createJob(job, items, parts.clock.now());
  if (answer.kind !== 'duplicates') return answer;
  return {
    kind: 'bad',
    problems: answer.indexes.map((index) => ({
      path: `items.${index}.item_id`,
      message: `${items[index]?.itemId} stands earlier in the list`,
    })),
  };
}

async function findScraper({ findScraper: find }: SubmitParts, id: string) {
  try {
    const scraper = await find(id);
    return scraper === null ? { problem: `there is no scraper ${id}` } : { scraper };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * The id of an item that came without one: its values in the order of their names. The same input gives the same id, so
 * that a list sent twice is one list; it is readable where inputs are small, which they are.
 */
export function derivedItemId(input: ItemInput): string {
  const names = Object.keys(input).sort();
  const values = names.map((name) => input[name]);
  const isPlain = values.every((value) => typeof value === 'string' || typeof value === 'number');
  return isPlain && values.length === 1 ? String(values[0]) : JSON.stringify(names.map((name) => [name, input[name]]));
}

/** Long enough for a slow sender's next chunk, short enough that a sender which died does not hold the job up. */
const OPEN_BETWEEN_CHUNKS_MS = 60_000;

/** Adds items chunk by chunk as they arrive, whatever their number; the job stays open until the last. */
export async function importItems(
  parts: { readonly ledger: ItemBook; readonly clock: Clock; readonly faults: Faults },
  jobId: string,
  chunks: AsyncIterable<readonly NewItem[]> | Iterable<readonly NewItem[]>,
): Promise<{ added: number; duplicates: number } | Exclude<AddAnswer, { kind: 'added' }>> {
  const { ledger, clock, faults } = parts;
  const sum = { added: 0, duplicates: 0 };
  for await (const chunk of chunks) {
    const answer = await ledger.addItems(jobId, chunk, clock.now() + OPEN_BETWEEN_CHUNKS_MS, clock.now());
    if (answer.kind !== 'added') return answer;
    sum.added += answer.added;
    sum.duplicates += answer.duplicates.length;
    await faults.at('between-import-chunks');
  }
  const closing = await ledger.addItems(jobId, [], clock.now(), clock.now());
  return closing.kind === 'added' ? sum : closing;
}

function bad(path: string, message: string): SubmitAnswer {
  return { kind: 'bad', problems: [{ path, message }] };
}
