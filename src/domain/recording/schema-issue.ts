import type { z } from 'zod';
import { isRecord } from '../is-record.ts';
import { suggestName } from '../near-names.ts';
import { CONDITION_SCHEMAS } from './condition.ts';
import { problemAt, type RecordingProblem } from './problem.ts';
import { STEP_TYPES } from './step.ts';

type Issue = z.core.$ZodIssue;

/** What the schema found, in words for the author of the recording. */
export function readIssue(document: unknown, issue: Issue): readonly RecordingProblem[] {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => problemAt(document, [...path, key], 'there is no such field here'));
  }
  if (issue.code === 'invalid_union') return [readUnion(document, issue)];
  if (issue.code === 'invalid_key' || issue.code === 'invalid_element') {
    const [inner] = issue.issues;
    return [problemAt(document, path, inner === undefined ? issue.message : inner.message)];
  }
  return [problemAt(document, path, wordsFor(issue))];
}

function readUnion(document: unknown, issue: Extract<Issue, { code: 'invalid_union' }>): RecordingProblem {
  const { path } = issue;
  if (issue.errors.length === 0) {
    // No member has this discriminator: `type` of a step or a condition, `from` of a file.
    const given = readAt(document, path);
    if (path.at(-1) !== 'type') return problemAt(document, path, given === undefined ? 'is missing' : 'is not known');
    const isStep = typeof path.at(-2) === 'number' && path.at(-3) !== 'conditions';
    const kind = isStep ? 'step' : 'condition';
    const names = isStep ? STEP_TYPES : CONDITION_SCHEMAS.map(({ shape }) => shape.type.value);
    if (given === undefined) return problemAt(document, path, `is missing: the kind of ${kind}`);
    const asked = String(given).slice(0, 60);
    return problemAt(
      document,
      path,
      `there is no ${kind} "${asked}"; ${suggestName(asked, names, `there are ${names.join(', ')}`)}`,
    );
  }
  const [nearest] = issue.errors
    .map((issues) => issues[0])
    .filter((first) => first !== undefined && !(first.path.length === 0 && first.code === 'invalid_type'));
  if (nearest === undefined) return problemAt(document, path, 'has the wrong kind of value');
  const [inner] = readIssue(document, { ...nearest, path: [...path, ...nearest.path] });
  return inner ?? problemAt(document, path, issue.message);
}

function wordsFor(issue: Issue): string {
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) {
    return `is missing (${issue.expected})`;
  }
  return issue.message.replace(/^Invalid input: /, '').replace(/^Too (big|small): /, 'too $1: ');
}

function readAt(document: unknown, path: readonly PropertyKey[]): unknown {
  let at = document;
  for (const key of path)
    at = isRecord(at) || Array.isArray(at) ? (at as Record<PropertyKey, unknown>)[key] : undefined;
  return at;
}
