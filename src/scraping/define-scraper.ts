import type { z } from 'zod';
import { failure } from '../domain/failure.ts';
import type { Lane } from '../domain/lane.ts';
import { ScrapeFailure } from './scrape-failure.ts';
import type { ScrapeContext, ScrapeResult, Scraper, ScraperKind } from './scraper.ts';

/** What every scraper says of itself, whatever its kind. */
export interface ScraperFacts<Input extends z.ZodType> {
  /** Lower-case letters, digits and dashes: `maricopa-az`. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly input: Input;
}

/** A scraper that needs nothing but its input: for examples, tests and measurements. */
export function definePlainScraper<Input extends z.ZodType>(
  definition: ScraperFacts<Input> & {
    scrape(context: Omit<ScrapeContext, 'input'> & { readonly input: z.output<Input> }): Promise<ScrapeResult>;
  },
): Scraper {
  return defineScraper({ ...definition, kind: 'plain', lane: 'http', hosts: [], output: null });
}

/** What all kinds have in common: the input is checked first, and a thrown failure becomes a result. */
export function defineScraper<Input extends z.ZodType>(
  definition: ScraperFacts<Input> & {
    readonly kind: ScraperKind;
    readonly lane: Lane;
    readonly hosts: readonly string[];
    readonly output: z.ZodType | null;
    scrape(context: Omit<ScrapeContext, 'input'> & { readonly input: z.output<Input> }): Promise<ScrapeResult>;
  },
): Scraper {
  return {
    ...definition,
    async scrape(context) {
      const parsed = definition.input.safeParse(context.input);
      if (!parsed.success) return { kind: 'failed', failure: failure('invalid_input', problemsOf(parsed.error)) };
      try {
        return await definition.scrape({ ...context, input: parsed.data });
      } catch (error) {
        if (error instanceof ScrapeFailure) return { kind: 'failed', failure: error.failure };
        throw error;
      }
    },
  };
}

/** `apn: must match …; year: expected number` */
export function problemsOf(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join('.') || '(whole)'}: ${message}`).join('; ');
}
