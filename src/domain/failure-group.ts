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

/**
 * The group in which a failure is counted: its own if there is one already or there is room for another, otherwise the
 * one for the rest of its type (`isOther`). `groups`: how many the job has.
 */
export function chooseGroup(
  failure: Failure,
  hasGroup: (key: string) => boolean,
  groups: number,
): { readonly kind: GroupKind; readonly isOther: boolean } {
  const own = groupOf(failure);
  const isOther = groups >= MAX_GROUPS && !hasGroup(groupKey(own));
  return { kind: countedIn(failure, isOther), isOther };
}

/** The group in which a failure was counted. */
export function countedIn(failure: Failure, isOther: boolean): GroupKind {
  return isOther ? otherGroup(failure.type) : groupOf(failure);
}

export function addToGroup(group: FailureGroup, example: FailureExample): FailureGroup {
  const added = newExamples(group.examples.length, [example]);
  const examples = added.length === 0 ? group.examples : [...group.examples, ...added];
  return { ...group, count: group.count + 1, examples };
}

/** The first of these that a group with so many examples takes. */
export function newExamples(present: number, examples: readonly FailureExample[]): readonly FailureExample[] {
  return examples.slice(0, Math.max(0, MAX_EXAMPLES - present));
}

/** These items have failed no more. Null when the group is empty, and gone. */
export function removeFromGroup<Group extends Pick<FailureGroup, 'count' | 'examples'>>(
  group: Group,
  itemIds: readonly string[],
): Group | null {
  const count = group.count - itemIds.length;
  if (count <= 0) return null;
  return { ...group, count, examples: group.examples.filter(({ itemId }) => !itemIds.includes(itemId)) };
}

export function commonestGroups(groups: readonly FailureGroup[], max: number): readonly FailureGroup[] {
  return groups.toSorted((one, other) => other.count - one.count).slice(0, max);
}
