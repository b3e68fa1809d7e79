import type { z } from 'zod';

export interface FieldProblem {
  /** `apn`, `owner.name`; empty for the value as a whole. */
  readonly path: string;
  /** Absent for a value that the schema does not accept. */
  readonly code?: 'unknown_field';
  readonly message: string;
}

/** Zod says only "Invalid input" of a value that is none of several types, and nothing of one that is missing. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_union') return issue.message;
  const tried = issue.errors.flat();
  const expected = tried.flatMap((each) =>
    each.code === 'invalid_type' && each.path.length === 0 ? each.expected : [],
  );
  const [, received] = /received (\S+)$/.exec(tried[0]?.message ?? '') ?? [];
  if (expected.length !== tried.length || received === undefined) return issue.message;
  return `${issue.message}: expected ${expected.join(', ').replace(/, (?=[^,]*$)/, ' or ')}, received ${received}`;
}

/** What a schema found, one problem per field. An unknown field is reported under its own path. */
export function schemaProblems({ issues }: z.ZodError): FieldProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path.join('.'), message: describeIssue(issue) }];
    return issue.keys.map((key) => ({
      path: [...issue.path, key].join('.'),
      code: 'unknown_field',
      message: `there is no field ${JSON.stringify(key)}`,
    }));
  });
}
