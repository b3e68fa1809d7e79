import type { FailureGroupAnswer } from '../../contract/failure-answers.ts';
import { printable } from '../format.ts';

/** What tells a group from another with the same type and message, which was seen on pages of another layout; else empty. */
export function layoutNote(group: FailureGroupAnswer, groups: readonly FailureGroupAnswer[]): string {
  const isAlone = groups.every(
    (other) => other === group || other.type !== group.type || other.pattern !== group.pattern,
  );
  if (isAlone) return '';
  return group.page === null ? ' [no page]' : ` [page layout ${printable(group.page, 20)}]`;
}
