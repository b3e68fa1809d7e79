import type { z } from 'zod';
import { failure } from '../domain/failure.ts';
import type { Lane } from '../domain/lane.ts';
import { describeIssue } from '../domain/schema-problems.ts';
import { ScrapeFailure } from './scrape-failure.ts';
import type { ScrapeContext, ScrapeResult, Scraper, ScraperKind, StoredInput } from './scraper.ts';

/** The description that every kind of scraper has. */
export interface ScraperFacts<Input extends z.ZodType> {
  /** Lower-case letters, digits and dashes: `maricopa-az`. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly input: Input;
}

/** What a scraper's own code gets: the same, with the input as parsed by its schema. */
export type WithInput<Given, Input extends z.ZodType> = Omit<Given, 'input'> & { readonly input: z.output<Input> };

/** A scraper that only needs its input: for examples, tests and measurements. */
export function definePlainScraper<Input extends z.ZodType>(
  definition: ScraperFacts<Input> & {
    /** False for measurements: without a `metadata.json`, an item that keeps nothing costs no file at all. */
    readonly metadata?: boolean;
    scrape(context: WithInput<ScrapeContext, Input>): Promise<ScrapeResult>;
  },
): Scraper {
  const { metadata = true } = definition;
  return defineScraper({
    ...definition,
    metadata,
    kind: 'plain',
    lane: 'http',
    hosts: [],
    output: null,
    extract: null,
  });
}

/** What all kinds have in common: the input is checked first, and a thrown failure becomes a result. */
export function defineScraper<Input extends z.ZodType>(
  definition: ScraperFacts<Input> & {
    readonly kind: ScraperKind;
    readonly lane: Lane;
    readonly hosts: readonly string[];
    readonly output: z.ZodType | null;
    readonly metadata: boolean;
    scrape(context: WithInput<ScrapeContext, Input>): Promise<ScrapeResult>;
    readonly extract: ((stored: WithInput<StoredInput, Input>) => ScrapeResult) | null;
  },
): Scraper {
  checkFacts(definition);
  const { input, extract } = definition;
  return {
    ...definition,
    scrape: (context) => checkInput(input, context.input, (checked) => definition.scrape(context.withInput(checked))),
    extract:
      extract && ((stored) => checkInput(input, stored.input, (checked) => extract({ ...stored, input: checked }))),
  };
}

async function checkInput<Input extends z.ZodType>(
  schema: Input,
  given: unknown,
  work: (checked: z.output<Input>) => ScrapeResult | Promise<ScrapeResult>,
): Promise<ScrapeResult> {
  const parsed = schema.safeParse(given);
  if (!parsed.success) return { kind: 'failed', failure: failure('invalid_input', problemsOf(parsed.error)) };
  try {
    return await work(parsed.data);
  } catch (error) {
    if (error instanceof ScrapeFailure) return { kind: 'failed', failure: error.failure };
    throw error;
  }
}

/** Not all scrapers are type-checked, and a mistake here would show up much later, as something else. */
export function checkFacts({
  id,
  version,
  hosts,
  input,
}: ScraperFacts<z.ZodType> & { hosts: readonly string[] }): void {
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(id)) {
    throw new Error(`the id "${id}" must be lower-case letters and digits, with single dashes between: maricopa-az`);
  }
  if (typeof version !== 'string' || version === '') throw new Error(`${id} has no version`);
  if (typeof input?.safeParse !== 'function') throw new Error(`${id}: input must be a schema, such as z.object({ … })`);
  if (!Array.isArray(hosts)) throw new Error(`${id}: hosts must be a list; an empty one allows any`);
  for (const host of hosts) {
    const isHost = typeof host === 'string' && /^(?:\*\.)?[a-z0-9.-]+(?::\d+)?$/i.test(host);
    if (!isHost)
      throw new Error(`${id}: "${host}" in hosts is not a host: write treasurer.example.gov or *.example.gov`);
  }
}

/** `apn: must match …; year: expected number` */
export function problemsOf(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join('.') || '(whole)'}: ${describeIssue(issue)}`).join('; ');
}
