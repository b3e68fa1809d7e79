import { artifactLabel, type StoredArtifact } from './artifact.ts';
import type { FailedStep, Failure, FailureType } from './failure.ts';
import { isSameLayout, layoutName } from './page-layout.ts';
import { isSamePlace } from './url-pattern.ts';

/**
 * Failures of a job with one cause: the same type, the same message once the particulars are removed, the same kind of
 * address, and the same page layout. They are counted by the layout's name and merged when they are read, because only
 * then can layouts be compared.
 */
export interface FailureGroup extends GroupKind {
  readonly count: number;
  /** When the first and the last of them ended. Null for groups that an older version counted. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  readonly examples: readonly FailureExample[];
}

/** A group as it is read. */
export interface ReadGroup extends FailureGroup {
  /**
   * The keys of the groups in which its failures are counted. The first is the oldest one, which never changes however
   * the others grow: it names the group.
   */
  readonly keys: readonly string[];
}

/** What failures of one group have in common. */
export interface GroupKind {
  readonly type: FailureType;
  /** The message with its particulars replaced: `parcel # not found`. */
  readonly pattern: string;
  /** Layout of a page on which it was seen (`page-layout.ts`); null if there was no page. */
  readonly page: string | null;
  /** Kind of address at which it was seen (`url-pattern.ts`); null if nothing was requested. */
  readonly place: string | null;
  /** The step of a recording at which it was seen; null if it was not seen at one. */
  readonly step: FailedStep | null;
}

export interface FailureExample {
  readonly itemId: string;
  readonly message: string;
  /** Label of the artifact that is its page. Set only if one was kept. */
  readonly page?: string;
}

/** A failure to be counted. */
export interface NewFailure extends FailureExample {
  /** When the attempt ended. */
  readonly at: number;
}

/** `end`: how the attempt ended, and what it kept. */
export function newFailure(
  itemId: string,
  { message }: Failure,
  end: { readonly startedAt: number; readonly durationMs: number; readonly kept: readonly StoredArtifact[] },
): NewFailure {
  const page = end.kept.find(({ kind }) => kind === 'failed_page') ?? end.kept.find(({ kind }) => isPage(kind));
  const at = end.startedAt + end.durationMs;
  return { itemId, message, at, ...(page === undefined ? {} : { page: artifactLabel(page) }) };
}

function isPage(kind: StoredArtifact['kind']): boolean {
  return kind === 'html' || kind === 'page';
}

export const MAX_EXAMPLES = 3;

/**
 * A job with more groups than this has messages without a pattern; the rest go into one group per type and, for a
 * recording, per step: how many failed at each step is exact however many messages there are.
 */
export const MAX_GROUPS = 200;
export const OTHER_PATTERN = '(other)';

const MAX_PATTERN_LENGTH = 160;

export function groupOf(failure: Failure): GroupKind {
  const { type, page = null, place = null, step = null } = failure;
  return { type, pattern: failurePattern(failure), page, place, step };
}

/** The group for failures that arrive when there are already too many groups. */
export function otherGroup({ type, step }: Pick<Failure, 'type' | 'step'>): GroupKind {
  const pattern = step === undefined ? OTHER_PATTERN : `${stepPrefix(step)}, ${OTHER_PATTERN}`;
  return { type, pattern, page: null, place: null, step: step ?? null };
}

function stepPrefix({ path }: FailedStep): string {
  return `step ${path}`;
}

/**
 * The same for groups of one kind, and different for all others: a pattern contains no line break, and a layout's name
 * no @.
 */
export function groupKey({ type, pattern, page, place }: GroupKind): string {
  const layout = page === null ? '' : `\n${layoutName(page)}`;
  return `${type} ${pattern}${layout}${place === null ? '' : `\n@${place}`}`;
}

/** Whether failures of both kinds are the same problem, even if they are counted separately. */
export function isSameProblem(one: GroupKind, other: GroupKind): boolean {
  return (
    one.type === other.type &&
    one.pattern === other.pattern &&
    isSamePlace(one.place, other.place) &&
    isSameLayout(one.page, other.page)
  );
}

export function failurePattern(failure: Failure): string {
  // The step of a recording is where it failed, not a particular of the item. Failures of an older version name it only
  // in their message.
  const [named = ''] = /^step [\w.-]{1,60}(?=, )/.exec(failure.message) ?? [];
  const step = failure.step === undefined ? named : stepPrefix(failure.step);
  const blurred = failure.message
    .slice(failure.message.startsWith(step) ? step.length : 0)
    .replaceAll(QUOTED, '<…>')
    .replaceAll(/https?:\/\/[^\s)]+/g, '<url>')
    .replaceAll(/(?<![^\s(])\/[^\s),;]+/g, '<path>')
    .replaceAll(/\b(?=[\w-]*\d)[\w-]+/g, '#')
    .replaceAll(/#(?:(?:[.,:/–-]|, )#)+/g, '#')
    .replaceAll(PLURAL, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return `${step}${withoutRepetitions(blurred)}`.slice(0, MAX_PATTERN_LENGTH).toWellFormed();
}

/** Single quotes count only at the beginning of a word: `the site's` opens no quotation. */
const QUOTED = /"(?:[^"\\]|\\.)*"|“[^”]*”|«[^»]*»|(?<![\p{L}\d])'[^']*'|`[^`]*`/gu;

/** Treats one row and two rows as the same. */
const PLURAL = /(# \p{L}{3,}(?<!s))s\b/gu;

/** A schema lists its problems, one per row, and the message may have been cut in the middle of one. */
function withoutRepetitions(message: string): string {
  const parts = [...new Set(message.split('; '))];
  const cut = parts.at(-1)?.match(/^(.*)…$/)?.[1];
  const isKnown = cut !== undefined && parts.slice(0, -1).some((part) => part.startsWith(cut));
  return (isKnown ? parts.slice(0, -1) : parts).join('; ');
}

/**
 * The group in which a failure is counted: its own if that exists or there is room for another, otherwise the
 * collective group of its type (`isOther`). `groups` is how many the job has.
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
  return isOther ? otherGroup(failure) : groupOf(failure);
}

/** Whether a failure is counted in one of these groups. */
export function isCountedIn(failure: Failure, isOther: boolean, keys: readonly string[]): boolean {
  return keys.includes(groupKey(countedIn(failure, isOther)));
}

export function emptyGroup({ type, pattern, page, place, step }: GroupKind): FailureGroup {
  return { type, pattern, page, place, step, count: 0, firstAt: null, lastAt: null, examples: [] };
}

export function addToGroup(group: FailureGroup, { at, ...example }: NewFailure): FailureGroup {
  const added = newExamples(group.examples, [example]);
  const examples = added.length === 0 ? group.examples : bestExamples([...group.examples, ...added]);
  const firstAt = group.firstAt === null && group.count > 0 ? null : Math.min(group.firstAt ?? at, at);
  return { ...group, count: group.count + 1, firstAt, lastAt: Math.max(group.lastAt ?? at, at), examples };
}

/**
 * Which of these a group adds to its `present` examples: the first ones, and later ones with a page in place of those
 * without. Items are not recorded in the order in which they ended, so the pages of the first ones may come later.
 */
export function newExamples(
  present: readonly FailureExample[],
  found: readonly FailureExample[],
): readonly FailureExample[] {
  const all = [...present];
  return found.filter((example) => {
    const rivals = example.page === undefined ? all : all.filter(({ page }) => page !== undefined);
    if (rivals.length >= MAX_EXAMPLES) return false;
    all.push(example);
    return true;
  });
}

/** As many as a group shows, those with a page first. */
export function bestExamples(examples: readonly FailureExample[]): readonly FailureExample[] {
  const withPage = examples.filter(({ page }) => page !== undefined);
  const others = examples.filter(({ page }) => page === undefined);
  return [...withPage, ...others].slice(0, MAX_EXAMPLES);
}

/** Takes items that are no longer failed out of the group. Null if the group is then empty, and gone. */
export function removeFromGroup<Group extends Pick<FailureGroup, 'count' | 'examples'>>(
  group: Group,
  itemIds: readonly string[],
): Group | null {
  const count = group.count - itemIds.length;
  if (count <= 0) return null;
  return { ...group, count, examples: group.examples.filter(({ itemId }) => !itemIds.includes(itemId)) };
}

/** Most frequent first; groups with the same cause are merged and take the form seen most often. */
export function commonestGroups(groups: readonly FailureGroup[], max: number): readonly ReadGroup[] {
  const alike = new Map<string, FailureGroup[][]>();
  for (const group of groups.toSorted(byCount)) {
    const key = `${group.type} ${group.pattern}`;
    const problems = alike.get(key) ?? [];
    const found = problems.find(([first]) => first !== undefined && isSameProblem(first, group));
    if (found === undefined) problems.push([group]);
    else found.push(group);
    alike.set(key, problems);
  }
  return [...alike.values()]
    .flat()
    .flatMap(([first, ...others]) => (first === undefined ? [] : joined(first, others)))
    .sort(byCount)
    .slice(0, max);
}

function byCount(one: FailureGroup, other: FailureGroup): number {
  return other.count - one.count;
}

function joined(first: FailureGroup, others: readonly FailureGroup[]): ReadGroup {
  const all = [first, ...others];
  const keys = all.toSorted(byAge).map(groupKey);
  const times = all.flatMap(({ firstAt, lastAt }) => [firstAt, lastAt]).filter((at) => at !== null);
  return {
    ...first,
    keys,
    count: all.reduce((sum, { count }) => sum + count, 0),
    firstAt: all.some(({ firstAt }) => firstAt === null) ? null : Math.min(...times),
    lastAt: times.length === 0 ? null : Math.max(...times),
    examples: bestExamples(all.flatMap(({ examples }) => examples)),
  };
}

/** Groups without a time were counted by an older version, and are older than those with one. */
function byAge(one: FailureGroup, other: FailureGroup): number {
  const difference = (one.firstAt ?? 0) - (other.firstAt ?? 0);
  return difference === 0 && groupKey(one) < groupKey(other) ? -1 : difference || 1;
}
