import type { z } from 'zod';
import type { FieldProblem } from './scraper-catalog.ts';

/** What a schema found, one problem per field. A field that it does not know is named by its own path. */
export function schemaProblems({ issues }: z.ZodError): FieldProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path.join('.'), message: issue.message }];
    return issue.keys.map((key) => ({
      path: [...issue.path, key].join('.'),
      message: `there is no field ${JSON.stringify(key)}`,
    }));
  });
}
