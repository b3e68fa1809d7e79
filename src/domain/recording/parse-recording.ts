import { checkReferences } from './check-references.ts';
import { checkShape } from './check-shape.ts';
import { compileSchema, deriveInputSchema, findSchemaProblem } from './input-schema.ts';
import { readPlaceholders } from './placeholders.ts';
import { problemAt, type RecordingProblem } from './problem.ts';
import { RECORDING, type Recording } from './recording.ts';
import { readIssue } from './schema-issue.ts';

export type ParsedRecording =
  | { readonly ok: true; readonly recording: Recording }
  | { readonly ok: false; readonly problems: readonly RecordingProblem[] };

/** A document with a thousand mistakes has one cause; the first few show it. */
const MAX_PROBLEMS = 20;

/**
 * Reads a recording strictly. First its size and shape, then its schema, then what refers to each other: sequences, rows,
 * variables, placeholders, hosts. What passes can still fail on a page, but never for a reason that is in the recording.
 */
export function parseRecording(document: unknown): ParsedRecording {
  const misshapen = checkShape(document);
  if (misshapen !== null) return { ok: false, problems: [misshapen] };

  const parsed = RECORDING.safeParse(document);
  if (!parsed.success) {
    const problems = parsed.error.issues.slice(0, MAX_PROBLEMS).flatMap((issue) => readIssue(document, issue));
    return { ok: false, problems: problems.slice(0, MAX_PROBLEMS) };
  }
  const { $schema: _, input, output, name, ...rest } = parsed.data;
  const { placeholders, problems: unreadable } = readPlaceholders(parsed.data);
  const problems = [
    ...unreadable,
    ...checkSchema('input', input),
    ...checkSchema('output', output),
    ...checkReferences(parsed.data, placeholders),
  ];
  if (problems.length > 0) return { ok: false, problems: problems.slice(0, MAX_PROBLEMS) };
  return {
    ok: true,
    recording: {
      ...rest,
      name: name ?? rest.id,
      input: input ?? deriveInputSchema(placeholders.map(({ placeholder }) => placeholder)),
      output: output ?? null,
    },
  };
}

function checkSchema(field: 'input' | 'output', schema: Record<string, unknown> | undefined): RecordingProblem[] {
  const problem = schema === undefined ? null : findSchemaProblem(schema);
  return problem === null ? [] : [problemAt({}, [field], problem)];
}

/** The schema that inputs are checked with. */
export function compileInput({ input }: Pick<Recording, 'input'>) {
  return compileSchema(input);
}

/** The schema that data are checked with; null if the recording has none. */
export function compileOutput({ output }: Pick<Recording, 'output'>) {
  return output === null ? null : compileSchema(output);
}
