import type { ParsedNewJob } from '../../contract/new-job.ts';
import type { FieldError } from '../../contract/problem.ts';
import type { WarningAnswer } from '../../contract/problem-answer.ts';
import type { Digest } from '../../domain/artifact.ts';
import { budgetProblems } from '../../domain/budget-policy.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import { errorMessage } from '../../domain/error-message.ts';
import type { NewItem } from '../../domain/item.ts';
import type { JobRecord, NewJob } from '../../domain/job.ts';
import type { Prices } from '../../domain/prices.ts';
import type { RecordingOrigin, SentRecording } from '../../domain/recording/kept-recording.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { JobBook } from '../../ports/ledger.ts';
import { type CatalogScraper, describeUnknownScraper, type ScraperCatalog } from '../intake/scraper-catalog.ts';
import { controlProblems } from './control-problems.ts';
import { inputPath, type ParsedSubmission, parseNewJob } from './parse-new-job.ts';
import { createWithRecording, type KeepDeps } from './recordings/keep-for-job.ts';
import { readInlineRecording } from './recordings/read-recording.ts';

export type SubmitAnswer =
  /** The first problems; the last entry says how many more there are. */
  | { readonly kind: 'bad'; readonly problems: readonly FieldError[] }
  | { readonly kind: 'created'; readonly job: JobRecord; readonly warnings: readonly WarningAnswer[] }
  /** The same request was sent before with the same key: this is the job it created. */
  | { readonly kind: 'replayed'; readonly job: JobRecord; readonly warnings: readonly WarningAnswer[] }
  /**
   * `key-reused`: a different request was sent before with the same key. `being-removed`: an earlier job with this id is
   * being deleted, and its results are not gone yet.
   */
  | { readonly kind: Exclude<ExistingJob['kind'], 'replayed'>; readonly job: JobRecord };

export interface SubmitDeps {
  readonly ledger: Pick<JobBook, 'createJob' | 'job'>;
  readonly recordings: KeepDeps['recordings'];
  readonly faults: Faults;
  readonly clock: Clock;
  readonly catalog: Pick<ScraperCatalog, 'find' | 'list' | 'ofRecording'>;
  readonly digest: Digest;
  /** For jobs that do not name a scraper. */
  readonly defaultScraper: string;
  /** Prices of proxies; they are stored with the jobs that are created. */
  readonly prices: Prices;
}

export const MAX_PROBLEMS = 100;

/**
 * Parses a request and creates its job, or reports everything that is wrong with it. A request that is sent again with
 * the same `idempotencyKey`, because its answer was lost, does not create a second job.
 */
export async function submitJob(
  deps: SubmitDeps,
  request: unknown,
  idempotencyKey: string | null,
): Promise<SubmitAnswer> {
  const parsed = parseNewJob(request);
  return 'problems' in parsed ? reject(parsed.problems) : await createJob(deps, parsed, idempotencyKey);
}

async function createJob(
  deps: SubmitDeps,
  { wanted, items, recording, request }: ParsedSubmission,
  idempotencyKey: string | null,
): Promise<SubmitAnswer> {
  // First of all: what is nested too deep must not reach the digest.
  const inline = await readRecording(deps, recording);
  if ('problems' in inline) return reject(inline.problems);
  const submission = deps.digest(canonicalJson(request));
  const jobId = wanted.job_id ?? idFromKey(deps, idempotencyKey);
  if (idempotencyKey !== null) {
    // Looked up first: the scraper may have changed since, but the job exists anyway.
    const made = await deps.ledger.job(jobId);
    if (made !== null) return answerExisting(made, { wanted, inline }, submission, idempotencyKey);
  }

  const found = await scraperFor(deps, wanted, inline);
  if ('problem' in found) return reject([found.problem]);
  const { scraper } = found;
  const ofItems = items.flatMap(({ input }, index) => inputProblems(scraper, input, index));
  const problems = [...policyProblems(deps, wanted), ...controlProblems(scraper, wanted.execution_policy), ...ofItems];
  if (problems.length > 0) return reject(problems);

  const job = newJobOf(deps, wanted, jobId, scraper, submission);
  const answer = await createWithRecording(deps, job, found, (made) =>
    deps.ledger.createJob(made, items, deps.clock.now()),
  );
  switch (answer.kind) {
    case 'created':
      return { ...answer, warnings: warningsAbout({ wanted, inline }, answer.job) };
    case 'exists':
      return answerExisting(answer.job, { wanted, inline }, submission, idempotencyKey);
    case 'duplicates':
      return reject(
        answer.repeated.map(({ index, first, differs }) =>
          repeatedProblem(items[index]?.itemId ?? '', index, first, differs),
        ),
      );
  }
}

/** What this server's settings cannot guarantee. */
export function policyProblems(
  { prices }: Pick<SubmitDeps, 'prices'>,
  { execution_policy: policy }: Pick<ParsedNewJob, 'execution_policy'>,
): FieldError[] {
  return budgetProblems(policy, prices).map(({ path, message }) => ({ path: `execution_policy.${path}`, message }));
}

export function newJobOf(
  { prices }: Pick<SubmitDeps, 'prices'>,
  wanted: ParsedNewJob,
  jobId: string,
  scraper: CatalogScraper,
  submission: string,
): NewJob {
  return {
    jobId,
    name: wanted.job_name ?? null,
    scraperId: scraper.id,
    scraperVersion: scraper.version,
    lane: scraper.lane,
    policy: wanted.execution_policy,
    labels: wanted.labels,
    held: wanted.hold,
    ...batchingOf(wanted),
    ...(Object.keys(prices).length === 0 ? {} : { prices }),
    submission,
  };
}

function batchingOf({ batching }: ParsedNewJob): Pick<NewJob, 'batching'> {
  return batching === undefined ? {} : { batching: { by: batching.by, maxItems: batching.max_items } };
}

export function inputProblems(scraper: CatalogScraper, input: NewItem['input'], index: number): FieldError[] {
  return scraper.problemsOf(input).map((problem) => ({ ...problem, path: inputPath(index, problem.path) }));
}

/** Two items with the same id: the message names both, and whether they are the same item sent twice. */
export function repeatedProblem(itemId: string, index: number, first: number, differs: boolean): FieldError {
  const inputs = differs ? 'a different input' : 'the same input';
  const message = `${itemId} is already the id of items.${first}, with ${inputs}`;
  return { path: `items.${index}.item_id`, code: 'duplicate_id', message };
}

export function idFromKey({ clock, digest }: Pick<SubmitDeps, 'clock' | 'digest'>, key: string | null): string {
  return key === null ? clock.id() : `idem-${digest(JSON.stringify(key)).slice(0, 32)}`;
}

/** What a request meets whose job already exists. */
export type ExistingJob = {
  readonly kind: 'replayed' | 'exists' | 'being-removed' | 'key-reused';
  readonly job: JobRecord;
};

export function meetExisting(job: JobRecord, submission: string, key: string | null): ExistingJob {
  if (job.removing) return { kind: 'being-removed', job };
  if (key === null) return { kind: 'exists', job };
  return { kind: job.submission === submission ? 'replayed' : 'key-reused', job };
}

/** The answer to a request whose job already exists. */
export function answerExisting(job: JobRecord, asked: AskedJob, submission: string, key: string | null): SubmitAnswer {
  const { kind } = meetExisting(job, submission, key);
  return kind === 'replayed' ? { kind, job, warnings: warningsAbout(asked, job) } : { kind, job };
}

interface AskedJob {
  readonly wanted: ParsedNewJob;
  readonly inline: InlineRecording;
}

export function warningsAbout({ wanted, inline }: AskedJob, { scraperId }: JobRecord): readonly WarningAnswer[] {
  if (inline.sent !== null) return inline.warnings;
  if (wanted.scraper_id !== undefined) return [];
  const message = `not given: the default scraper ${scraperId} is used`;
  return [{ path: 'scraper_id', code: 'default_scraper', message }];
}

/** A recording that came with the request. */
export type InlineRecording =
  | { readonly sent: null }
  | { readonly sent: SentRecording; readonly warnings: readonly WarningAnswer[] };

export async function readRecording(
  { digest }: Pick<SubmitDeps, 'digest'>,
  recording: unknown,
): Promise<InlineRecording | { readonly problems: readonly FieldError[] }> {
  return recording === undefined ? { sent: null } : await readInlineRecording(recording, digest);
}

/** The scraper of a request: the recording that came with it, the scraper that it names, or the default one. */
export async function scraperFor(
  { catalog, defaultScraper }: Pick<SubmitDeps, 'catalog' | 'defaultScraper'>,
  { scraper_id: id }: Pick<ParsedNewJob, 'scraper_id'>,
  { sent }: InlineRecording,
): Promise<{ readonly scraper: CatalogScraper; readonly origin: RecordingOrigin } | { readonly problem: FieldError }> {
  if (sent !== null) return { scraper: await catalog.ofRecording(sent), origin: 'inline' };
  const found = await findScraper({ catalog }, id ?? defaultScraper);
  if (found.scraper !== undefined) return { scraper: found.scraper, origin: 'stored' };
  const source = id === undefined ? ' (the default scraper, set by TRAWL_DEFAULT_SCRAPER)' : '';
  return { problem: { path: 'scraper_id', code: 'scraper_unusable', message: `${found.problem}${source}` } };
}

export async function findScraper(
  { catalog }: { readonly catalog: Pick<ScraperCatalog, 'find' | 'list'> },
  id: string,
) {
  try {
    const scraper = await catalog.find(id);
    return scraper === null ? { problem: await describeUnknownScraper(catalog, id) } : { scraper };
  } catch (error) {
    return { problem: errorMessage(error) };
  }
}

/** `total`: how many there are, if not all of them were kept. */
export function reject(all: readonly FieldError[], total = all.length): SubmitAnswer {
  const more = total - Math.min(all.length, MAX_PROBLEMS);
  if (more <= 0) return { kind: 'bad', problems: all };
  const rest = { path: '', code: 'more_errors', message: `and ${more} more problem${more === 1 ? '' : 's'}` } as const;
  return { kind: 'bad', problems: [...all.slice(0, MAX_PROBLEMS), rest] };
}
