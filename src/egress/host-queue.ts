import { type HostTrouble, NO_TROUBLE } from '../domain/host-trouble.ts';
import type { Clock } from '../ports/clock.ts';
import type { HealthLink } from './health-link.ts';
import { HostHealth } from './host-health.ts';
import type { Line, Readiness } from './line.ts';

/** A host, or anything else that callers queue for, as this process sees it. */
export interface Host {
  readonly name: string;
  readonly line: Line;
  heldUntil: number;
  /** The reason of the pause in force, or of the last one. */
  heldWhy: string;
  trouble: HostTrouble;
  readonly health: HostHealth;
  /** For a host that is away: whether a request was sent since its pause. */
  isProbed: boolean;
  /** When this process last entered. */
  startedAt: number;
  /** By job; for each, in the order in which they came. */
  readonly waiting: Map<string, Set<Waiter>>;
  /** Set while callers wait for a time. */
  timer: AbortController | null;
  timerAt: number;
  wake: (() => void) | null;
}

export interface Waiter {
  /** The line of its job's requests; null while the job has no limit of its own. */
  own: Line | null;
  readonly patienceMs: number;
  admit(now: number): void;
  turnAway(heldMs: number): void;
}

export function newHost(name: string, clock: Clock, makeLine: (link: HealthLink) => Line): Host {
  const health = new HostHealth(clock.elapsed());
  const { news } = health;
  const line = makeLine({
    isUrgent: () => news.isUrgent,
    take: (now) => news.take(now),
    restore: () => news.restore(),
    learn: (heard, askedAt) => {
      health.learn(heard, askedAt);
      const now = clock.elapsed();
      const pausedMs = (heard?.pausedMs ?? 0) - (now - askedAt);
      if (pausedMs > 0) pauseHost(host, pausedMs, heard?.pauses === 0 ? ASKED_TO_WAIT : NOT_ANSWERING, now);
    },
  });
  const host: Host = {
    ...{ name, line, heldUntil: 0, heldWhy: '', trouble: NO_TROUBLE, health, isProbed: false },
    ...{ startedAt: Number.NEGATIVE_INFINITY, waiting: new Map(), timer: null, timerAt: 0, wake: null },
  };
  return host;
}

const ASKED_TO_WAIT = 'the host asked us to wait';
const NOT_ANSWERING = 'the host does not answer';

/** Callers that cannot wait that long are turned away. */
export function pauseHost(host: Host, ms: number, why: string, now: number): void {
  const until = now + ms;
  if (until > host.heldUntil) host.heldWhy = why;
  host.heldUntil = Math.max(host.heldUntil, until);
  for (const waiters of [...host.waiting.values()]) {
    for (const waiter of [...waiters]) if (waiter.patienceMs < ms) waiter.turnAway(ms);
  }
}

/**
 * When the next caller may enter a host that is not paused: at the pace it can take, and one at a time while it is
 * away.
 */
export function readyIn({ line, health, startedAt }: Host, now: number): Readiness {
  if (!health.isUsual) {
    if (health.isAway && line.inside > 0) return 'until-one-leaves';
    const waitMs = startedAt + health.spacingMs() - now;
    if (waitMs > 0) return waitMs;
  }
  return line.readyIn(now);
}

export function addWaiter(host: Host, job: string, waiter: Waiter): void {
  const waiters = host.waiting.get(job);
  if (waiters === undefined) host.waiting.set(job, new Set([waiter]));
  else waiters.add(waiter);
  host.line.addWaiter(job);
  waiter.own?.addWaiter(job);
}

export function dropWaiter(host: Host, job: string, waiter: Waiter): void {
  const waiters = host.waiting.get(job);
  if (waiters?.delete(waiter) !== true) return;
  if (waiters.size === 0) host.waiting.delete(job);
  host.line.dropWaiter(job);
  waiter.own?.dropWaiter(job);
  // No waiter is left to wake, and a timer would keep the process alive.
  if (host.waiting.size === 0) host.timer?.abort(NO_WAITERS);
}

/** The job got a limit of its own: those of its callers that wait already are held to it, too. */
export function giveLine(host: Host, job: string, line: Line): void {
  for (const waiter of host.waiting.get(job) ?? []) {
    if (waiter.own !== null) continue;
    waiter.own = line;
    line.addWaiter(job);
  }
}

/** Aborting without a reason would create an exception with a stack trace. */
const NO_WAITERS = 'no caller waits';
