import { isRecord } from '../is-record.ts';
import { LIMITS, PROTOTYPE_NAMES } from './limits.ts';
import type { RecordingProblem } from './problem.ts';
import { problemAt } from './problem.ts';
import { NESTED_FIELDS } from './step.ts';

/**
 * Looks at a document before any schema does: how large it is, how deep, and whether a name in it leads to a prototype.
 * It walks without recursion, since it is what keeps deep documents from those that recurse.
 */
export function checkShape(document: unknown): RecordingProblem | null {
  const waiting: { value: unknown; path: (string | number)[] }[] = [{ value: document, path: [] }];
  let nodes = 0;
  let steps = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, path } = next;
    const refuse = (message: string) => problemAt(document, path, message);
    nodes += 1;
    if (nodes > LIMITS.nodes) return problemAt(document, [], `there are more than ${LIMITS.nodes} values in it`);
    if (path.length > LIMITS.depth) return refuse(`is nested deeper than ${LIMITS.depth} levels`);
    if (typeof value === 'string') {
      const limit = path.at(-1) === 'base64' ? LIMITS.inlineFile : LIMITS.text;
      if (value.length > limit) return refuse(`is longer than ${limit} characters`);
    } else if (Array.isArray(value)) {
      if (isStepList(path)) steps += value.length;
      if (steps > LIMITS.steps) return refuse(`there are more than ${LIMITS.steps} steps`);
      if (isStepList(path) && countLists(path) > LIMITS.nesting + 1) {
        return refuse(`steps are nested deeper than ${LIMITS.nesting} levels`);
      }
      for (let at = value.length - 1; at >= 0; at -= 1) waiting.push({ value: value[at], path: [...path, at] });
    } else if (isRecord(value)) {
      for (const [name, inner] of Object.entries(value).reverse()) {
        if (PROTOTYPE_NAMES.has(name)) return problemAt(document, [...path, name], 'is a name that cannot be used');
        waiting.push({ value: inner, path: [...path, name] });
      }
    }
  }
  return null;
}

function isStepList(path: readonly (string | number)[]): boolean {
  const last = path.at(-1);
  return (path.length === 2 && path[0] === 'sequences') || (NESTED_FIELDS as readonly unknown[]).includes(last);
}

function countLists(path: readonly (string | number)[]): number {
  return (
    path.filter((name) => (NESTED_FIELDS as readonly unknown[]).includes(name)).length +
    (path[0] === 'sequences' ? 1 : 0)
  );
}
