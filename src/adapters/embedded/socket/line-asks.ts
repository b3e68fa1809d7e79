import { type JobDemand, MAX_DEMANDS } from '../../../domain/line-book.ts';
import type { LineNews, RefusalNews } from '../../../domain/line-health.ts';
import type { LineLimits } from '../../../domain/line-limits.ts';
import type { NamedAsk } from '../../../ports/host-shares.ts';
import { BadCall, isAbove0, isListOf, isName, isNumber, isRecord, isWhole } from './call-arguments.ts';

/** What a worker asks of the limits of hosts and jobs, as it comes over the socket. */
export function lineAsks(value: unknown): readonly NamedAsk[] {
  if (!isListOf(value, isNamedAsk)) throw new BadCall('this is not a list of reservations');
  return value;
}

function isNamedAsk(value: unknown): value is NamedAsk {
  return (
    isRecord(value, 6) &&
    isName(value['line']) &&
    isLimits(value['limits']) &&
    isAbove0(value['leaseMs']) &&
    isWhole(value['inside']) &&
    isListOf(value['demands'], isDemand) &&
    value['demands'].length <= MAX_DEMANDS &&
    (value['news'] === null || isNews(value['news']))
  );
}

function isNews(value: unknown): value is LineNews {
  return (
    isRecord(value, 8) &&
    isWhole(value['good']) &&
    (value['goodMs'] === null || isAtLeast0(value['goodMs'])) &&
    (value['refusal'] === null || isRefusal(value['refusal'])) &&
    isWhole(value['failures']) &&
    isAtLeast0(value['failingMs']) &&
    isAtLeast0(value['failedMs']) &&
    isWhole(value['pauses']) &&
    isAtLeast0(value['pausedMs'])
  );
}

function isRefusal(value: unknown): value is RefusalNews {
  return (
    isRecord(value, 3) &&
    isAtLeast0(value['agoMs']) &&
    isAtLeast0(value['acceptedPerSecond']) &&
    isAtLeast0(value['latencyMs'])
  );
}

function isLimits(value: unknown): value is LineLimits {
  return (
    isRecord(value, 3) &&
    (value['maxConcurrent'] === null || isWhole(value['maxConcurrent'])) &&
    (value['requestsPerSecond'] === null || isAbove0(value['requestsPerSecond'])) &&
    isAtLeast0(value['minDelayMs'])
  );
}

function isDemand(value: unknown): value is JobDemand {
  return (
    isRecord(value, 4) &&
    isName(value['job']) &&
    isAbove0(value['weight']) &&
    isWhole(value['places']) &&
    isAtLeast0(value['perSecond'])
  );
}

function isAtLeast0(value: unknown): value is number {
  return isNumber(value) && value >= 0;
}
