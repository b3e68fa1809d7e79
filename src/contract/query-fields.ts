import { z } from 'zod';

/** Building blocks of queries, in which everything is text. */

/** Numbers in a query are strings: decimal digits only, not everything that JavaScript accepts as a number. */
export function whole(min: number, max: number, description: string) {
  return z
    .string()
    .regex(/^\d{1,10}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({ description });
}

export function flag(description: string) {
  return flagOr(false, description);
}

export function flagOr(unlessGiven: boolean, description: string) {
  return z
    .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })
    .meta({ description })
    .default(unlessGiven);
}

const LONGEST_JSON = 20_000;

/** A value as JSON. */
export function jsonText(description: string) {
  return z
    .string()
    .max(LONGEST_JSON)
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue({ code: 'custom', message: 'must be JSON' });
        return z.NEVER;
      }
    })
    .meta({ description });
}
