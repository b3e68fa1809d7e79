import type { Failure, FailureType } from './failure.ts';

/**
 * Failures of a job that are one problem: the same type, the same message once the particulars are taken out, and the
 * same make of page.
 */
export interface FailureGroup {
  readonly type: FailureType;
  /** The message with its particulars replaced: `parcel # not found`. */
  readonly pattern: string;
  /** Fingerprint of the page on which it was seen; null where there was none. */
  readonly page: string | null;
  readonly count: number;
  readonly examples: readonly FailureExample[];
}

export interface FailureExample {
  readonly itemId: string;
  readonly message: string;
}

export const MAX_EXAMPLES = 3;

/** Beyond this many groups a job's messages have no pattern, and the rest go into one group per type. */
export const MAX_GROUPS = 200;
export const OTHER_PATTERN = '(other)';

const MAX_PATTERN_LENGTH = 160;

/** What makes failures one group. */
export type GroupKind = Pick<FailureGroup, 'type' | 'pattern' | 'page'>;

export function groupOf(failure: Failure): GroupKind {
  return { type: failure.type, pattern: failurePattern(failure), page: failure.page ?? null };
}

/** The group for failures that come when there are too many groups already. */
export function otherGroup(type: FailureType): GroupKind {
  return { type, pattern: OTHER_PATTERN, page: null };
}

/** The same for groups of one kind, and for no others: there is no line break in a pattern. */
export function groupKey({ type, pattern, page }: GroupKind): string {
  return page === null ? `${type} ${pattern}` : `${type} ${pattern}\n${page}`;
}

export function failurePattern(failure: Failure): string {
  return failure.message
    .replaceAll(/https?:\/\/[^\s)]+/g, '<url>')
    .replaceAll(/"[^"]*"|'[^']*'|`[^`]*`/g, '<…>')
    .replaceAll(/\b(?=[\w-]*\d)[\w-]+/g, '#')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_PATTERN_LENGTH)
    .toWellFormed();
}

export function addToGroup(group: FailureGroup, example: FailureExample): FailureGroup {
  const examples = group.examples.length < MAX_EXAMPLES ? [...group.examples, example] : group.examples;
  return { ...group, count: group.count + 1, examples };
}
