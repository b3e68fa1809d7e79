import { z } from 'zod';
import { EtlTrouble } from '../../ports/run-service.ts';
import type { CreateScrapeRunResponse, ListedScrapeRuns } from '../types.ts';

/**
 * Normalises answers of ETL servers, which differ in envelopes, names and nulls. This is the only place that knows the
 * variations.
 */

/** An answer that does not match the API's description; the message names the field. */
export class EtlAnswerError extends EtlTrouble {
  override name = 'EtlAnswerError';

  constructor(what: string) {
    super(`the ETL API gave an answer that cannot be used: ${what}`);
  }
}

const id = z.union([
  z.string().min(1),
  z.number().transform(String),
  z.object({ $oid: z.string().min(1) }).transform(({ $oid }) => $oid),
]);
const time = z.union([z.string(), z.number()]).transform((value, context) => {
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) context.addIssue({ code: 'custom', message: 'is not a time' });
  // A text stays unchanged, so that what is sent back is what was received.
  return typeof value === 'string' ? value : at.toISOString();
});
const text = z.string().nullish();
const flag = z.boolean().nullish();

const item = z
  .object({ url: z.string().min(1), done: flag, failed: flag, invalid: flag, failedReason: text, failReason: text })
  .transform(({ url, done, failed, invalid, failedReason, failReason }) => {
    const reason = failedReason ?? failReason;
    return {
      url,
      done: done ?? false,
      ...(typeof failed === 'boolean' && { failed }),
      ...(typeof invalid === 'boolean' && { invalid }),
      ...(reason !== undefined && { failedReason: reason }),
    };
  });

const metadata = z.object({
  started_at: text,
  finished_at: text,
  finished_count: z.number().nullish(),
  total_count: z.number().nullish(),
  failed_count: z.number().nullish(),
});

const run = z
  .object({
    _id: id.nullish(),
    id: id.nullish(),
    domain: z.string().min(1),
    startTime: time.nullish(),
    start_time: time.nullish(),
    endTime: time.nullish(),
    end_time: time.nullish(),
    createdAt: time.nullish(),
    created_at: time.nullish(),
    updatedAt: time.nullish(),
    updated_at: time.nullish(),
    items: z.array(item).nullish(),
    source: text,
    status: text,
    metadata: metadata.nullish(),
  })
  .transform((found, context): CreateScrapeRunResponse => {
    const { source, status } = found;
    const name = found._id ?? found.id;
    if (name == null) context.addIssue({ code: 'custom', path: ['_id'], message: 'is missing, and so is id' });
    const started = found.startTime ?? found.start_time ?? found.metadata?.started_at;
    const createdAt = found.createdAt ?? found.created_at ?? started;
    if (createdAt == null) {
      context.addIssue({ code: 'custom', path: ['createdAt'], message: 'is missing, and so is startTime' });
    }
    return {
      _id: name ?? '',
      domain: found.domain,
      startTime: started ?? createdAt ?? '',
      endTime: found.endTime ?? found.end_time ?? null,
      items: found.items ?? [],
      createdAt: createdAt ?? '',
      updatedAt: found.updatedAt ?? found.updated_at ?? createdAt ?? '',
      ...(typeof source === 'string' && { source }),
      ...(typeof status === 'string' && { status }),
      ...(found.metadata && { metadata: withoutEmpty(found.metadata) }),
    };
  });

/** Only the end of a run that has not ended may be null. */
function withoutEmpty(given: z.output<typeof metadata>): NonNullable<CreateScrapeRunResponse['metadata']> {
  const known = Object.entries(given).filter(([name, value]) =>
    name === 'finished_at' ? value !== undefined : value != null,
  );
  return Object.fromEntries(known);
}

const pagination = z
  .object({ currentPage: z.number(), totalPages: z.number(), totalItems: z.number(), limit: z.number() })
  .partial();

/** `{…}`, `{data: {…}}` or `{run: {…}}`. */
export function normalizeRunResponse(answer: unknown): CreateScrapeRunResponse {
  const { data, run: named } = z.looseObject({}).safeParse(answer).data ?? {};
  return parsed(run, isObject(data) ? data : isObject(named) ? named : answer, '');
}

/** `{data: […], pagination}`, `{runs: […]}` or a list. */
export function normalizeListResponse(answer: unknown): ListedScrapeRuns {
  const envelope = isObject(answer) ? answer : {};
  const found = Array.isArray(answer) ? answer : (envelope['data'] ?? envelope['runs']);
  if (!Array.isArray(found)) throw new EtlAnswerError('it has no list of runs, neither data nor runs');
  const data = found.map((one, index) => parsed(run, one, `data.${index}.`));
  const pages = parsed(pagination, envelope['pagination'] ?? {}, 'pagination.');
  return {
    data,
    pagination: {
      currentPage: pages.currentPage ?? 1,
      totalPages: pages.totalPages ?? 1,
      totalItems: pages.totalItems ?? data.length,
      limit: pages.limit ?? data.length,
    },
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown, within: string): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new EtlAnswerError(`${within}${issue?.path.join('.') || 'the answer'}: ${issue?.message}`);
}
