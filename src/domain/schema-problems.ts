import type { z } from 'zod';

export interface FieldProblem {
  /** `apn`, `owner.name`; empty for the value as a whole. */
  readonly path: string;
  /** Absent for a value that the schema does not accept. */
  readonly code?: 'unknown_field';
  readonly message: string;
}

/** What a schema found, one problem per field. An unknown field is reported under its own path. */
export function schemaProblems({ issues }: z.ZodError): FieldProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path.join('.'), message: issue.message }];
    return issue.keys.map((key) => ({
      path: [...issue.path, key].join('.'),
      code: 'unknown_field',
      message: `there is no field ${JSON.stringify(key)}`,
    }));
  });
}
