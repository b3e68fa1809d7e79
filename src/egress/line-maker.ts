import type { LineLimits } from '../domain/line-limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { HostShares } from '../ports/host-shares.ts';
import type { HealthLink } from './health-link.ts';
import type { Line } from './line.ts';
import { Reserver } from './reserver.ts';
import { SharedLine } from './shared-line.ts';
import { SoleLine } from './sole-line.ts';

/** How a process shares limits with others. */
export interface SharedLimits {
  readonly shares: HostShares;
  /** Name of this process, unique to this run. */
  readonly process: string;
  readonly leaseMs: number;
  readonly onError: (where: string, error: unknown) => void;
}

/** `link` is null for a line that is not a host's. */
export type LineMaker = (name: string, limits: LineLimits, link: HealthLink | null) => Line;

/** Creates the lines of a process; without `shared`, the process has them to itself. */
export function lineMaker(
  shared: SharedLimits | undefined,
  clock: Clock,
  weightOf: (job: string) => number,
): LineMaker {
  if (shared === undefined) return (_, limits) => new SoleLine(limits);
  const { shares, process, leaseMs, onError } = shared;
  const reserver = new Reserver({ shares, process, clock, onError });
  return (name, limits, link) => new SharedLine({ name, limits, link, reserver, clock, leaseMs, weightOf });
}
