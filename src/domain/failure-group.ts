import type { Failure, FailureType } from './failure.ts';
import { isSameLayout, layoutName } from './page-layout.ts';

/**
 * Failures of a job that are one problem: the same type, the same message once the particulars are taken out, and the
 * same layout of the page. They are counted by the layout's name and put together when they are read, because which
 * layouts are the same is known only once both have been seen.
 */
export interface FailureGroup {
  readonly type: FailureType;
  /** The message with its particulars replaced: `parcel # not found`. */
  readonly pattern: string;
  /** Layout of a page on which it was seen (`page-layout.ts`); null where there was none. */
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
  return page === null ? `${type} ${pattern}` : `${type} ${pattern}\n${layoutName(page)}`;
}

export function failurePattern(failure: Failure): string {
  const blurred = failure.message
    .replaceAll(QUOTED, '<…>')
    .replaceAll(/https?:\/\/[^\s)]+/g, '<url>')
    .replaceAll(/(?<![^\s(])\/[^\s),;]+/g, '<path>')
    .replaceAll(/\b(?=[\w-]*\d)[\w-]+/g, '#')
    .replaceAll(/#(?:(?:[.,:/–-]|, )#)+/g, '#')
    .replaceAll(PLURAL, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return withoutRepetitions(blurred).slice(0, MAX_PATTERN_LENGTH).toWellFormed();
}

/** In single quotes only at the beginning of a word: `the site's` opens none. */
const QUOTED = /"(?:[^"\\]|\\.)*"|“[^”]*”|«[^»]*»|(?<![\p{L}\d])'[^']*'|`[^`]*`/gu;

/** One row and two rows are the same. */
const PLURAL = /(# \p{L}{3,}(?<!s))s\b/gu;

/** A schema lists its problems, one for each row, and the message may have been cut in the middle of one. */
function withoutRepetitions(message: string): string {
  const parts = [...new Set(message.split('; '))];
  const cut = parts.at(-1)?.match(/^(.*)…$/)?.[1];
  const isKnown = cut !== undefined && parts.slice(0, -1).some((part) => part.startsWith(cut));
  return (isKnown ? parts.slice(0, -1) : parts).join('; ');
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

/** The most frequent first, those of one layout together: each under the layout that was seen most often. */
export function commonestGroups(groups: readonly FailureGroup[], max: number): readonly FailureGroup[] {
  const alike = new Map<string, FailureGroup[]>();
  for (const group of groups.toSorted(byCount)) {
    const key = groupKey({ ...group, page: null });
    const others = alike.get(key) ?? [];
    const place = others.findIndex(({ page }) => isSameLayout(page, group.page));
    const found = others[place];
    if (found === undefined) others.push(group);
    else others[place] = joined(found, group);
    alike.set(key, others);
  }
  return [...alike.values()].flat().sort(byCount).slice(0, max);
}

function byCount(one: FailureGroup, other: FailureGroup): number {
  return other.count - one.count;
}

function joined(group: FailureGroup, other: FailureGroup): FailureGroup {
  const examples = [...group.examples, ...newExamples(group.examples.length, other.examples)];
  return { ...group, count: group.count + other.count, examples };
}
