import { basename, relative, resolve } from 'node:path';
import { ConfigError } from '../config.ts';
import type { JobSummaryAnswer } from '../contract/job-answers.ts';
import { printable } from './format.ts';

/**
 * Chooses the job in a folder that a run is about. Each list has its own job, named after its file; scraping the list
 * again creates another job, its next round. Labels of the jobs record the list and round.
 */
const LIST = 'trawl.list';
const ROUND = 'trawl.round';
const SOURCE = 'trawl.source';
const CODE = 'trawl.code';
const EXTRACTS = 'trawl.extracts';

export type FolderJob = Pick<
  JobSummaryAnswer,
  'job_id' | 'scraper_id' | 'scraper_version' | 'status' | 'held' | 'labels' | 'created_at'
>;

export interface ListWish {
  /** The name of the list; null if the user named none. */
  readonly name: string | null;
  /** Whether the user chose the name, and thereby what goes into the job. */
  readonly isChosen: boolean;
  /** Path of the list relative to the folder; null if it is not a file. */
  readonly source: string | null;
  readonly scraperId: string;
  /** Whether a finished list is to be scraped again. */
  readonly again: boolean;
}

export interface ListChoice {
  readonly jobId: string;
  readonly list: string;
  readonly round: number;
  /** False if the job must be created first. */
  readonly isThere: boolean;
  /** The job of the previous round, if there is one. */
  readonly before: string | null;
  /** Whether this is the first job of the folder, whose results have the plain name. */
  readonly isFirst: boolean;
  /** Names of the other lists in the folder. */
  readonly others: readonly string[];
}

/** Null if the folder has no job and the user named no list. `jobs` are all jobs of the folder. */
export function chooseJob(jobs: readonly FolderJob[], wish: ListWish, folder: string): ListChoice | null {
  const own = jobs.filter(({ labels }) => labels[EXTRACTS] === undefined).toSorted(byAge);
  const names = [...new Set(own.map(listOf))];
  const list = wish.name === null ? onlyList(names, folder) : knownList(own, wish.name, wish.isChosen);
  if (list === null) return null;
  const rounds = own.filter((job) => listOf(job) === list).toSorted((a, b) => roundOf(a) - roundOf(b));
  const named = wish.isChosen && wish.name !== list ? rounds.find(({ job_id: id }) => id === wish.name) : undefined;
  const last = named ?? rounds.at(-1);
  if (last !== undefined) checkSame(last, wish, folder);
  const others = names.filter((name) => name !== list);
  const before = (round: number) => rounds.findLast((job) => roundOf(job) < round)?.job_id ?? null;
  if (last !== undefined && !(wish.again && isEnded(last))) {
    const [round, isFirst] = [roundOf(last), own[0] === last];
    return { ...{ jobId: last.job_id, list, round, isThere: true, before: before(round) }, isFirst, others };
  }
  const round = last === undefined ? 1 : roundOf(rounds.at(-1) ?? last) + 1;
  const jobId = freeId(jobs, list, round);
  return { ...{ jobId, list, round, isThere: false, before: before(round) }, isFirst: own.length === 0, others };
}

/** Labels for a job of a run. */
export function listLabels(
  { list, round }: ListChoice,
  { source, code }: { readonly source: string | null; readonly code: string | null },
): Record<string, string> {
  return {
    [LIST]: list,
    [ROUND]: String(round),
    ...(source === null ? {} : { [SOURCE]: source.slice(0, MAX_LABEL) }),
    ...(code === null ? {} : { [CODE]: code.slice(0, CODE_DIGITS) }),
  };
}

/** Labels and id of a re-extraction of a run: the id of an unfinished one, or a new one. */
export function extractionOf(
  jobs: readonly FolderJob[],
  jobId: string,
  { version, code }: ScraperCode,
): { readonly id: string; readonly labels: Record<string, string> } {
  const labels = { [EXTRACTS]: jobId, ...(code === null ? {} : { [CODE]: code.slice(0, CODE_DIGITS) }) };
  const begun = jobs.find((job) => isExtraction(job, jobId) && !isEnded(job) && isSameCode(job, { version, code }));
  return { id: begun?.job_id ?? freeId(jobs, `${jobId}-extract`, 1), labels };
}

export interface ScraperCode {
  readonly version: string;
  /** Differs if the code differs; null if unknown. */
  readonly code: string | null;
}

/**
 * Whether the scraper differs from the one that made the results of a job. A re-extraction with the current one, even
 * if it found no differences, has brought the results up to date.
 */
export function hasScraperChanged(
  jobs: readonly FolderJob[],
  job: FolderJob,
  ran: readonly string[],
  now: ScraperCode,
): boolean {
  const read = jobs.filter((each) => isExtraction(each, job.job_id) && each.status === 'completed');
  const bySameVersion = read.filter(({ scraper_version: version }) => version === now.version);
  if (bySameVersion.length > 0) return !bySameVersion.some((each) => isSameCode(each, now));
  // Retried items may come from a later version; edits without a new version are known only for the first.
  return job.scraper_version === now.version ? !isSameCode(job, now) : !ran.includes(now.version);
}

/** Whether a job belongs to the list with that name; null matches any list. */
export function isOfList(
  { jobId, labels }: { readonly jobId: string; readonly labels: FolderJob['labels'] },
  name: string | null,
): boolean {
  return labels[EXTRACTS] === undefined && (name === null || name === (labels[LIST] ?? jobId) || name === jobId);
}

/** Jobs that would run beside the one the user asked for. */
export function otherUnfinished(jobs: readonly FolderJob[], jobId: string): readonly FolderJob[] {
  return jobs.filter(
    ({ job_id: id, status, held }) => id !== jobId && !held && (status === 'pending' || status === 'in_progress'),
  );
}

/** The name of a list: its file name without folder and extensions, in a form that is valid in URLs and file names. */
export function listName(path: string): string {
  const stem = basename(path).replace(/(?:\.(?:csv|tsv|jsonl|ndjson|json|txt))?(?:\.(?:gz|zst))?$/i, '');
  return jobName(stem) || 'list';
}

/** Identifies the list in messages and in later runs; unchanged when the folder is moved together with its lists. */
export function listSource(path: string, folder: string): string {
  return relative(resolve(folder), resolve(path));
}

export function checkedJobName(name: string): string {
  if (jobName(name) === name && name !== '') return name;
  throw new ConfigError(
    `--job ${name}: use small letters, digits, dots, hyphens and underscores, such as parcels-2026`,
  );
}

const MAX_NAME = 80;
const MAX_LABEL = 500;
const CODE_DIGITS = 16;
/** Job ids that are also paths of the API. */
const RESERVED = /^(?:bulk|plan)$/;

function jobName(text: string): string {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/\.{2,}/g, '.')
    .slice(0, MAX_NAME)
    .replaceAll(/^[._-]+|[._-]+$/g, '');
  return RESERVED.test(name) ? `${name}-list` : name;
}

function listOf({ job_id, labels }: FolderJob): string {
  return labels[LIST] ?? job_id;
}

function roundOf({ labels }: FolderJob): number {
  return Number(labels[ROUND] ?? 1);
}

function byAge(a: FolderJob, b: FolderJob): number {
  return Date.parse(a.created_at) - Date.parse(b.created_at) || roundOf(a) - roundOf(b);
}

/** A job that stopped before its end is continued instead of begun again. */
function isEnded({ status }: FolderJob): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

function isExtraction({ labels }: FolderJob, jobId: string): boolean {
  return labels[EXTRACTS] === jobId;
}

function isSameCode({ labels, scraper_version: version }: FolderJob, now: ScraperCode): boolean {
  const code = labels[CODE];
  if (version !== now.version) return false;
  return code === undefined || now.code === null || now.code.startsWith(code);
}

function onlyList(names: readonly string[], folder: string): string | null {
  if (names.length <= 1) return names[0] ?? null;
  throw new ConfigError(`${folder} holds several lists: give --items, or one of them as --job: ${shown(names)}`);
}

/** The name of a later round also identifies its list. */
function knownList(own: readonly FolderJob[], name: string, isChosen: boolean): string {
  if (!isChosen || own.some((job) => listOf(job) === name)) return name;
  const job = own.find(({ job_id: id }) => id === name);
  return job === undefined ? name : listOf(job);
}

/** Two lists are never merged without the user's knowledge. */
function checkSame(job: FolderJob, { scraperId, isChosen, source }: ListWish, folder: string): void {
  const id = printable(job.job_id);
  if (job.scraper_id !== scraperId) {
    throw new ConfigError(
      `job ${id} in ${folder} uses scraper ${printable(job.scraper_id)}: use another --job or --out`,
    );
  }
  const known = job.labels[SOURCE];
  if (isChosen || source === null || known === undefined || known === source.slice(0, MAX_LABEL)) return;
  throw new ConfigError(
    `job ${id} in ${folder} belongs to another list, ${printable(known)}. Give this one a job of its own with ` +
      `--job NAME; or, if it is the same list in another place, continue with --job ${printable(listOf(job))}`,
  );
}

function freeId(jobs: readonly FolderJob[], name: string, from: number): string {
  const taken = new Set(jobs.map(({ job_id: id }) => id));
  for (let number = from; ; number += 1) {
    const id = number === 1 ? name : `${name}-${number}`;
    if (!taken.has(id)) return id;
  }
}

export function shown(names: readonly string[]): string {
  const first = names.slice(0, 5).map((name) => printable(name));
  return `${first.join(', ')}${names.length > first.length ? ' …' : ''}`;
}
