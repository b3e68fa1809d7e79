import { ARTIFACT_KINDS, isPageName } from '../../../domain/artifact.ts';
import { type ControlReport, MAX_CONTROL_FIELDS, MAX_CONTROL_TEXT } from '../../../domain/control-state.ts';
import { type FailedTry, MAX_FAILED_TRIES, MAX_TRY_MESSAGE_LENGTH } from '../../../domain/failed-try.ts';
import { FAILURES } from '../../../domain/failure.ts';
import { MAX_FOUND } from '../../../domain/found.ts';
import { MAX_REASON_LENGTH, type PauseReport } from '../../../domain/host-pause.ts';
import { MAX_GROUP_LENGTH, MAX_ITEM_ID_LENGTH, MAX_VERSION_LENGTH, type NewItem } from '../../../domain/item.ts';
import { type ItemWait, MAX_WAITS } from '../../../domain/item-wait.ts';
import type { HeldBack } from '../../../domain/job-wait.ts';
import { LANES, type Lane } from '../../../domain/lane.ts';
import { MAX_OWN_ERROR_LENGTH } from '../../../domain/own-error.ts';
import { PROXY_TYPES } from '../../../domain/proxy-policy.ts';
import { isSkipReason } from '../../../domain/skip-reason.ts';
import type { JobHolding, Room } from '../../../domain/slot-share.ts';
import {
  MAX_ATTEMPT_USAGE_ROWS,
  MAX_USAGE_HOST_LENGTH,
  NO_USAGE,
  type Usage,
  type UsageRow,
} from '../../../domain/usage.ts';
import type { SettlePart } from '../../../ports/ledger.ts';
import type { ReleaseCause } from '../../../ports/return-cause.ts';

/**
 * Checks of arguments from the socket, strict and by hand: tens of thousands of settlements pass here every second, and
 * a schema library takes longer for one than the ledger does.
 */
export class BadCall extends Error {
  constructor(what: string) {
    super(`bad call: ${what}`);
    this.name = 'BadCall';
  }
}

const MAX_LIST = 100_000;
const MAX_NAME = 2048;
const MAX_TEXT = 64 * 1024;

export function name(value: unknown): string {
  if (!isText(value, MAX_NAME)) throw new BadCall('a name is missing');
  return value;
}

export function names(value: unknown): readonly string[] {
  if (!isListOf(value, isName)) throw new BadCall('a list of names is missing');
  return value;
}

export function whole(value: unknown): number {
  if (!isWhole(value)) throw new BadCall('a whole number is missing');
  return value;
}

/** An instant or a duration. */
export function time(value: unknown): number {
  if (!isNumber(value)) throw new BadCall('a time is missing');
  return value;
}

export function lane(value: unknown): Lane {
  if (!isLane(value)) throw new BadCall('a lane is missing');
  return value;
}

export function room(value: unknown): Room {
  if (!isRoom(value)) throw new BadCall('it is not said what there is room for');
  return value;
}

export function releaseCause(value: unknown): ReleaseCause {
  if (value === 'drained' || value === 'storage') return value;
  if (isHeldBack(value)) return value;
  const error = isRecord(value, 1) ? value['error'] : undefined;
  if (typeof error !== 'string' || error.length > MAX_OWN_ERROR_LENGTH) throw new BadCall('a cause is missing');
  return { error };
}

/** Absent where nothing was used. */
export function usage(value: unknown): Usage {
  if (value === undefined || value === null) return NO_USAGE;
  if (!isUsage(value)) throw new BadCall('this is not what an attempt used');
  return value;
}

export function settleParts(value: unknown): readonly SettlePart[] {
  if (!isListOf(value, isSettlePart)) throw new BadCall('a settlement is not complete, or holds what it should not');
  return value;
}

export function pauseReport(value: unknown): PauseReport {
  if (!isPauseReport(value)) throw new BadCall('the pause of a host is missing');
  return value;
}

export function itemWaits(value: unknown): readonly ItemWait[] {
  if (!isListOf(value, isItemWait) || value.length > MAX_WAITS) throw new BadCall('this is not a list of waits');
  return value;
}

function isHeldBack(value: unknown): value is HeldBack {
  return (
    isRecord(value, 3) &&
    isName(value['host']) &&
    isNumber(value['until']) &&
    isText(value['reason'], MAX_REASON_LENGTH)
  );
}

export function controlReport(value: unknown): ControlReport {
  if (!isControlReport(value)) throw new BadCall('the report of a control item is not complete');
  return value;
}

function isControlReport(value: unknown): value is ControlReport {
  return (
    isRecord(value, 6) &&
    isWhole(value['number']) &&
    isName(value['key']) &&
    isText(value['input'], MAX_CONTROL_TEXT) &&
    isNumber(value['startedAt']) &&
    isControlSeen(value['seen']) &&
    isUsage(value['usage'])
  );
}

function isControlSeen(value: unknown): boolean {
  if (!isRecord(value, 4) && !isRecord(value, 3) && !isRecord(value, 2)) return false;
  switch (value['kind']) {
    case 'data':
      return isDigests(value['digests']) && (value['wrong'] === null || isName(value['wrong']));
    case 'failed':
      return FAILURE_NAMES.has(value['type']) && isText(value['message'], MAX_CONTROL_TEXT);
    case 'skipped':
      return isName(value['reason']);
    case 'held': {
      const { kind: _held, ...held } = value;
      return isHeldBack(held);
    }
    default:
      return false;
  }
}

function isDigests(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= MAX_CONTROL_FIELDS + 1 && entries.every(([field, digest]) => isName(field) && isName(digest))
  );
}

function isItemWait(value: unknown): value is ItemWait {
  return (
    isRecord(value, 4) &&
    isName(value['jobId']) &&
    FAILURE_NAMES.has(value['type']) &&
    isWhole(value['items']) &&
    isNumber(value['until'])
  );
}

function isRoom(value: unknown): value is Room {
  return (
    isRecord(value, 4) &&
    isWhole(value['most']) &&
    isWhole(value['freeSlots']) &&
    isWhole(value['freePlaces']) &&
    isListOf(value['jobs'], isHolding)
  );
}

function isHolding(value: unknown): value is JobHolding {
  return Array.isArray(value) && value.length === 3 && isName(value[0]) && isWhole(value[1]) && isWhole(value[2]);
}

function isPauseReport(value: unknown): value is PauseReport {
  return (
    isRecord(value, 4) &&
    isName(value['host']) &&
    isNumber(value['until']) &&
    isNumber(value['at']) &&
    isText(value['reason'], MAX_REASON_LENGTH)
  );
}

function isSettlePart(value: unknown): value is SettlePart {
  return (
    isRecord(value, 3) && isName(value['token']) && isName(value['jobId']) && isListOf(value['items'], isSettlement)
  );
}

function isSettlement(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const hasVersion = 'scraperVersion' in value;
  const hasTries = 'failedTries' in value;
  const hasUsage = 'usage' in value;
  return (
    isRecord(value, 6 + Number(hasVersion) + Number(hasTries) + Number(hasUsage)) &&
    isWhole(value['seq']) &&
    isWhole(value['attempt']) &&
    isWhole(value['tries']) &&
    isNumber(value['startedAt']) &&
    isNumber(value['durationMs']) &&
    isOutcome(value['outcome']) &&
    (!hasVersion || isText(value['scraperVersion'], MAX_VERSION_LENGTH)) &&
    (!hasTries || isFailedTries(value['failedTries'])) &&
    (!hasUsage || isUsage(value['usage']))
  );
}

function isUsage(value: unknown): value is Usage {
  return isListOf(value, isUsageRow) && value.length <= MAX_ATTEMPT_USAGE_ROWS;
}

function isUsageRow(value: unknown): value is UsageRow {
  return (
    isRecord(value, 7) &&
    isText(value['host'], MAX_USAGE_HOST_LENGTH) &&
    PROXY_NAMES.has(value['proxy']) &&
    isWhole(value['requests']) &&
    isWhole(value['bytesUp']) &&
    isWhole(value['bytesDown']) &&
    isWhole(value['refused']) &&
    isWhole(value['blocked'])
  );
}

function isFailedTries(value: unknown): boolean {
  return isListOf(value, isFailedTry) && value.length <= MAX_FAILED_TRIES;
}

function isFailedTry(value: unknown): value is FailedTry {
  return (
    isRecord(value, 5) &&
    isWhole(value['number']) &&
    FAILURE_NAMES.has(value['type']) &&
    isText(value['message'], MAX_TRY_MESSAGE_LENGTH) &&
    isNumber(value['at']) &&
    (value['waitMs'] === null || isNumber(value['waitMs']))
  );
}

function isOutcome(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const hasKept = 'artifacts' in value && ('failure' in value || 'reason' in value);
  const hasFound = 'found' in value;
  if (!isRecord(value, 2 + Number(hasKept) + Number(hasFound))) return false;
  if (hasFound && (value['kind'] === 'failed' || !isFound(value['found']))) return false;
  switch (value['kind']) {
    case 'scraped':
      return isListOf(value['artifacts'], isArtifact);
    case 'skipped':
      return isSkipReason(value['reason']) && (!hasKept || isListOf(value['artifacts'], isArtifact));
    case 'failed':
      return isFailure(value['failure']) && (!hasKept || isListOf(value['artifacts'], isArtifact));
    default:
      return false;
  }
}

function isFound(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const hasInvalid = 'invalid' in value;
  const hasBeyond = 'beyond' in value;
  return (
    isRecord(value, 1 + Number(hasInvalid) + Number(hasBeyond)) &&
    isListOf(value['items'], isFoundItem) &&
    value['items'].length <= MAX_FOUND &&
    (!hasInvalid || isWhole(value['invalid'])) &&
    (!hasBeyond || isWhole(value['beyond']))
  );
}

function isFoundItem(value: unknown): value is NewItem {
  if (typeof value !== 'object' || value === null) return false;
  const hasGroup = 'group' in value;
  return (
    isRecord(value, 3 + Number(hasGroup)) &&
    isText(value['itemId'], MAX_ITEM_ID_LENGTH) &&
    isInput(value['input']) &&
    isAbove0(value['depth']) &&
    isWhole(value['depth']) &&
    (!hasGroup || isText(value['group'], MAX_GROUP_LENGTH))
  );
}

/** Any object: only the scraper knows what is in it. */
function isInput(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const KINDS: ReadonlySet<unknown> = new Set(ARTIFACT_KINDS);
const PROXY_NAMES: ReadonlySet<unknown> = new Set(PROXY_TYPES);
const LANE_NAMES: ReadonlySet<unknown> = new Set(LANES);
const FAILURE_NAMES: ReadonlySet<unknown> = new Set(Object.keys(FAILURES));
const SHA256 = /^[0-9a-f]{64}$/;

function isArtifact(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const segment = ('offset' in value ? 1 : 0) + ('length' in value ? 1 : 0);
  const isNamed = 'name' in value;
  return (
    isRecord(value, 6 + segment + (isNamed ? 1 : 0)) &&
    KINDS.has(value['kind']) &&
    (!isNamed || (typeof value['name'] === 'string' && isPageName(value['name']))) &&
    isName(value['key']) &&
    isWhole(value['size']) &&
    typeof value['sha256'] === 'string' &&
    SHA256.test(value['sha256']) &&
    (value['encoding'] === 'identity' || value['encoding'] === 'gzip') &&
    isName(value['contentType']) &&
    (segment === 0 || (isWhole(value['offset'] ?? 0) && isWhole(value['length'] ?? 0)))
  );
}

function isFailure(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const hasPage = 'page' in value;
  const hasPlace = 'place' in value;
  const hasStep = 'step' in value;
  return (
    isRecord(value, 4 + Number(hasPage) + Number(hasPlace) + Number(hasStep)) &&
    FAILURE_NAMES.has(value['type']) &&
    isText(value['message'], MAX_TEXT) &&
    (value['cause'] === null || isText(value['cause'], MAX_TEXT)) &&
    (value['retryAfterMs'] === null || isNumber(value['retryAfterMs'])) &&
    (!hasPage || isName(value['page'])) &&
    (!hasPlace || isName(value['place'])) &&
    (!hasStep || isFailedStep(value['step']))
  );
}

/** Masking a secret may make a label longer. */
function isFailedStep(value: unknown): boolean {
  return isRecord(value, 2) && isName(value['path']) && isName(value['label']);
}

/** With this many fields, so that once the known ones are there no unknown one is. */
export function isRecord(value: unknown, fields: number): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.keys(value).length === fields;
}

export function isListOf<T>(value: unknown, isOne: (entry: unknown) => entry is T): value is readonly T[];
export function isListOf(value: unknown, isOne: (entry: unknown) => boolean): boolean;
export function isListOf(value: unknown, isOne: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length <= MAX_LIST && value.every(isOne);
}

function isLane(value: unknown): value is Lane {
  return LANE_NAMES.has(value);
}

export function isName(value: unknown): value is string {
  return isText(value, MAX_NAME);
}

function isText(value: unknown, max: number): value is string {
  return typeof value === 'string' && value.length <= max;
}

export function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isAbove0(value: unknown): value is number {
  return isNumber(value) && value > 0;
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
