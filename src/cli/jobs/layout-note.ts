import type { FailureGroupAnswer } from '../../contract/failure-answers.ts';
import { printable } from '../format.ts';

/**
 * What distinguishes a group from another with the same type and message: the address or page layout it was seen on;
 * empty if nothing does.
 */
export function layoutNote(group: FailureGroupAnswer, groups: readonly FailureGroupAnswer[]): string {
  const alike = groups.filter(({ type, pattern }) => type === group.type && pattern === group.pattern);
  if (alike.length <= 1) return '';
  const there = alike.filter(({ url_pattern }) => url_pattern === group.url_pattern);
  const where = group.url_pattern === null ? ' [no request]' : ` [at ${printable(group.url_pattern, 120)}]`;
  const layout = group.page === null ? ' [no page]' : ` [page layout ${printable(group.page, 20)}]`;
  return `${there.length < alike.length ? where : ''}${there.length > 1 ? layout : ''}`;
}
