import type { ParsedNewJob } from '../../contract/new-job.ts';
import type { FieldError } from '../../contract/problem.ts';
import type { WarningAnswer } from '../../contract/problem-answer.ts';
import type { Digest } from '../../domain/artifact.ts';
import { isRecord } from '../../domain/is-record.ts';
import { defaultSampleSize } from '../../domain/job-plan.ts';
import type { RecordingOrigin } from '../../domain/recording/kept-recording.ts';
import { seededChance } from '../../domain/seeded-chance.ts';
import type { Clock } from '../../ports/clock.ts';
import { InputCheck } from '../intake/check-inputs.ts';
import { UnreadableItems } from '../intake/csv-columns.ts';
import { inPieces } from '../intake/in-pieces.ts';
import { inputFields } from '../intake/input-fields.ts';
import { firstOf, type ListReading } from '../intake/intake.ts';
import { inWords, judgeItems } from '../intake/judge-items.ts';
import { parseJsonBytes } from '../intake/parse-json-bytes.ts';
import { readItems } from '../intake/read-items.ts';
import type { CatalogScraper } from '../intake/scraper-catalog.ts';
import { brokenText, JsonSplitter } from '../intake/split-json.ts';
import { MAX_RECORD_BYTES } from '../intake/split-records.ts';
import { untilAborted } from '../intake/until-aborted.ts';
import { parseNewItem, parseNewJob } from './parse-new-job.ts';
import { policyProblems, readRecording, type SubmitDeps, scraperFor } from './submit.ts';
import { MAX_INLINE_BYTES, readHead } from './submit-stream.ts';

/** What a plan is about: the job as it would be created, and the result of checking its items. */
export interface PlanRequest {
  readonly wanted: ParsedNewJob;
  readonly scraper: CatalogScraper;
  readonly origin: RecordingOrigin;
  readonly warnings: readonly WarningAnswer[];
  readonly check: InputCheck;
}

export type ReadPlanAnswer =
  | { readonly kind: 'read'; readonly request: PlanRequest }
  | { readonly kind: 'bad'; readonly problems: readonly FieldError[] }
  /** The body as a whole cannot be understood. */
  | { readonly kind: 'malformed'; readonly message: string };

export interface ReadPlanDeps extends Pick<SubmitDeps, 'catalog' | 'defaultScraper' | 'prices'> {
  readonly digest: Digest;
  readonly clock: Pick<Clock, 'turn'>;
}

/** Null lets the server choose. */
type SampleSize = number | null;

/** Reads a list, as `POST /jobs/{id}/items` takes it; the job is in `fields`. */
export async function readPlanList(
  deps: ReadPlanDeps,
  fields: Readonly<Record<string, unknown>>,
  bytes: AsyncIterable<Uint8Array>,
  { format, columns, isStrict, limit }: ListReading,
  { sample, signal }: { readonly sample: SampleSize; readonly signal: AbortSignal },
): Promise<ReadPlanAnswer> {
  const begun = await begin(deps, fields, sample);
  if (begun.kind !== 'read') return begun;
  const { scraper, check } = begun.request;
  const rules = { mapping: columns, input: inputFields(scraper), isStrict };
  let left = limit;
  try {
    for await (const chunk of readItems(untilAborted(bytes, signal), format, () => false, rules)) {
      const { items, bad, ignoredColumns } = firstOf(left, judgeItems(chunk, scraper));
      left -= items.length;
      for (const item of items) check.take(item);
      for (const line of bad) check.refuse(line);
      check.ignore(ignoredColumns);
      // Lets other tasks run before the next chunk is read.
      await deps.clock.turn();
      if (left <= 0) break;
    }
  } catch (error) {
    if (!(error instanceof UnreadableItems)) throw error;
    return { kind: 'malformed', message: error.message };
  }
  return begun;
}

/** Reads the body of `POST /jobs`. If it is too large to be parsed at once, the other fields must precede the items. */
export async function readPlanBody(
  deps: ReadPlanDeps,
  bytes: AsyncIterable<Uint8Array>,
  { sample, signal, inlineBytes = MAX_INLINE_BYTES }: { sample: SampleSize; signal: AbortSignal; inlineBytes?: number },
): Promise<ReadPlanAnswer> {
  const source = untilAborted(bytes, signal);
  try {
    const head = await readHead(source, inlineBytes);
    if (!head.isEnd) return await readLarge(deps, inPieces(head.bytes, source), sample);
    if (head.bytes.length === 0) return { kind: 'malformed', message: 'the request has no body' };
    const parsed = parseJsonBytes(head.bytes);
    if ('problem' in parsed) return { kind: 'malformed', message: parsed.problem };
    const { value } = parsed;
    if (!isRecord(value)) return { kind: 'malformed', message: 'it is not an object' };
    const { items, ...fields } = value;
    const begun = await begin(deps, Array.isArray(items) ? fields : value, sample);
    if (begun.kind !== 'read' || !Array.isArray(items)) return begun;
    for (const [index, item] of items.entries()) {
      takeEntry(begun.request, item, index);
      if (index % CHECKED_AT_ONCE === 0) await deps.clock.turn();
    }
    return begun;
  } finally {
    await source.return(undefined);
  }
}

async function readLarge(
  deps: ReadPlanDeps,
  pieces: AsyncIterable<Uint8Array>,
  sample: SampleSize,
): Promise<ReadPlanAnswer> {
  const splitter = new JsonSplitter('request');
  const fields = new Map<string, unknown>();
  let begun: ReadPlanAnswer | null = null;
  for await (const piece of pieces) {
    for (const part of splitter.push(piece)) {
      if (part.kind === 'broken') return { kind: 'malformed', message: brokenText(part) };
      if (part.kind === 'field') {
        const parsed = parseJsonBytes(part.bytes);
        if ('problem' in parsed) return { kind: 'malformed', message: `${part.name}: ${parsed.problem}` };
        if (begun !== null)
          return { kind: 'malformed', message: `${part.name} must precede the items, which are many` };
        fields.set(part.name, parsed.value);
        continue;
      }
      begun ??= await begin(deps, Object.fromEntries(fields), sample);
      if (begun.kind !== 'read') return begun;
      if (part.kind === 'too-long') begun.request.check.refuse({ line: part.index + 1, problem: TOO_LONG });
      else {
        const parsed = parseJsonBytes(part.bytes);
        if ('problem' in parsed) return { kind: 'malformed', message: `items.${part.index}: ${parsed.problem}` };
        takeEntry(begun.request, parsed.value, part.index);
      }
    }
    await deps.clock.turn();
  }
  const last = splitter.last();
  if (last !== null) return { kind: 'malformed', message: brokenText(last) };
  return begun ?? (await begin(deps, Object.fromEntries(fields), sample));
}

const CHECKED_AT_ONCE = 500;
const TOO_LONG = `it is longer than ${MAX_RECORD_BYTES / 2 ** 20} MiB`;

function takeEntry({ scraper, check }: PlanRequest, value: unknown, index: number): void {
  const line = index + 1;
  const made = parseNewItem(value, index);
  if ('problems' in made) {
    const place = new RegExp(`^items\\.${index}\\.?`);
    const problems = made.problems.map(({ path, message }) => ({ path: path.replace(place, ''), message }));
    check.refuse({ line, problem: inWords(problems) });
    return;
  }
  const problems = scraper.problemsOf(made.item.input);
  if (problems.length === 0) check.take({ item: made.item, line });
  else check.refuse({ line, code: 'invalid_input', problem: inWords(problems) });
}

async function begin(
  deps: ReadPlanDeps,
  fields: Readonly<Record<string, unknown>>,
  sample: SampleSize,
): Promise<ReadPlanAnswer> {
  const parsed = parseNewJob(fields);
  if ('problems' in parsed) return { kind: 'bad', problems: parsed.problems };
  const { wanted } = parsed;
  const inline = await readRecording(deps, parsed.recording);
  if ('problems' in inline) return { kind: 'bad', problems: inline.problems };
  const found = await scraperFor(deps, wanted, inline);
  if ('problem' in found) return { kind: 'bad', problems: [found.problem] };
  const problems = policyProblems(deps, wanted);
  if (problems.length > 0) return { kind: 'bad', problems };
  const sampleSize = sample ?? defaultSampleSize(wanted.execution_policy.throttling);
  // The same list always gives the same sample, so that repeated plans can be compared.
  const check = new InputCheck({ digest: deps.digest, sampleSize, chance: seededChance(1) });
  return { kind: 'read', request: { wanted, ...found, warnings: inline.sent === null ? [] : inline.warnings, check } };
}
