/**
 * How often a host refused or failed recent requests. One bad answer among many good ones is an accident: it is enough
 * that its own request waits. Many of them mean that the host is overloaded, and then all requests wait.
 */
export interface HostTrouble {
  /** Requests sent to it; older ones count less. */
  readonly requests: number;
  /** How many of them failed. */
  readonly troubles: number;
}

export const NO_TROUBLE: HostTrouble = { requests: 0, troubles: 0 };

export type TroubleRate = 'rare' | 'frequent';

/** Up to one request in twenty: a site with 1 % of bad answers stays below it, one that limits our rate does not. */
const RARE_SHARE = 0.05;

/** So few prove nothing, however few requests there were. */
const FEW = 2;

/** From this number on, the past counts half, so that a host is judged by its last hundred or two hundred requests. */
const WINDOW = 200;

export function withRequest({ requests, troubles }: HostTrouble): HostTrouble {
  if (requests < WINDOW) return { requests: requests + 1, troubles };
  return { requests: requests / 2 + 1, troubles: troubles / 2 };
}

export function withTrouble({ requests, troubles }: HostTrouble): HostTrouble {
  return { requests, troubles: troubles + 1 };
}

export function troubleRate({ requests, troubles }: HostTrouble): TroubleRate {
  return troubles <= Math.max(FEW, requests * RARE_SHARE) ? 'rare' : 'frequent';
}
