import { pendingOf } from '../../domain/counts.ts';
import type { FailureType } from '../../domain/failure.ts';
import type { ProxyType } from '../../domain/proxy-policy.ts';
import type { Usage } from '../../domain/usage.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JobBook } from '../../ports/ledger.ts';
import { isOwnError } from '../../ports/return-cause.ts';
import { within } from '../../ports/within.ts';
import type { WorkQueue } from '../../ports/work-queue.ts';
import type { EngineEvent, EventStream } from '../engine/events.ts';
import { Loop } from '../engine/loop.ts';
import { activeJobs } from './active-jobs.ts';
import { EMF, EMF_DIMENSIONS, EMF_NAMESPACE } from './emf-names.ts';

/**
 * Metrics as lines of the log, in the format from which CloudWatch creates metrics: no agent, no requests of our own,
 * no permission. Every controller reports its own state; only the leader reports the rest, because all controllers hear
 * of all changes, and CloudWatch would add up what each of them counted. There are no ids and few dimensions: each new
 * value of a dimension is a metric that is billed.
 */
export interface EmfDeps {
  readonly events: EventStream;
  readonly standing: StandingSource;
  /** Writes one line, given without its line break. */
  readonly write: (line: string) => void;
  readonly clock: Clock;
  readonly everyMs: number;
}

export interface StandingSource {
  readonly ledger: Pick<JobBook, 'activeJobs'>;
  readonly queue: Pick<WorkQueue, 'depth'>;
  readonly controller: () => { readonly isLeading: boolean; readonly storageProblem: string | null };
}

type Count = keyof typeof EMF.counts;

/** Reports at once, then every `everyMs` until it is closed. */
export function emfReporter({ events, standing, write, clock, everyMs }: EmfDeps) {
  const counts = new Map<Count, number>();
  const failures = new Map<FailureType, number>();
  const used = new Map<ProxyType, Record<string, number>>();
  let errors = 0;
  const add = (what: Count, count: number) => counts.set(what, (counts.get(what) ?? 0) + count);
  const unsubscribe = events.subscribe(hear);
  const stop = new AbortController();
  const onError = (error: unknown) => events.publish({ kind: 'engine-error', where: 'metrics', error });
  const sleepUnlessStopped = (ms: number, signal: AbortSignal = stop.signal) =>
    clock.sleep(ms, AbortSignal.any([stop.signal, signal]));
  const running = new Loop({ clock, everyMs, runOnce: tell, onError }).run(stop.signal);

  return {
    /** Writes the last counts. It queries nothing: ledger and queue may be closed by then. */
    async close(): Promise<void> {
      stop.abort();
      await running;
      unsubscribe();
      tellCounts(standing.controller().isLeading, {});
    },
  };

  async function tell(): Promise<void> {
    const { isLeading, storageProblem } = standing.controller();
    const own = {
      [EMF.gauges.leading]: isLeading ? 1 : 0,
      [EMF.gauges.storageTrouble]: storageProblem === null ? 0 : 1,
    };
    tellCounts(isLeading, { ...own, ...(isLeading ? await readStanding() : {}) });
  }

  async function readStanding(): Promise<Record<string, number>> {
    const { ledger, queue } = standing;
    const reading = Promise.all([jobsInProgress(ledger), queue.depth()]).catch(() => null);
    // The other metrics are needed most when the ledger is in trouble.
    const read = await within({ sleep: sleepUnlessStopped }, READ_MS, reading, () => null);
    if (read === null) {
      add('unread', 1);
      return {};
    }
    const [active, depths] = read;
    for (const { lane, waiting, delivered } of depths) {
      line({ [EMF.perLane.waiting]: waiting, [EMF.perLane.delivered]: delivered }, [EMF_DIMENSIONS.lane, lane]);
    }
    return { [EMF.standing.jobs]: active.jobs, [EMF.standing.pending]: active.pending };
  }

  /** A follower's counts are dropped: the leader counted the same. */
  function tellCounts(isLeading: boolean, gauges: Readonly<Record<string, number>>): void {
    const counted = [...counts].filter(([, count]) => count > 0).map(([what, count]) => [EMF.counts[what], count]);
    const failed = [...failures];
    const traffic = [...used];
    const own = errors > 0 ? { [EMF.ownCounts.errors]: errors } : {};
    counts.clear();
    failures.clear();
    used.clear();
    errors = 0;
    line({ ...gauges, ...own, ...(isLeading ? Object.fromEntries(counted) : {}) }, null);
    for (const [type, count] of isLeading ? failed : []) {
      line({ [EMF.perFailure.failures]: count }, [EMF_DIMENSIONS.failureType, type]);
    }
    for (const [proxy, values] of isLeading ? traffic : []) line(values, [EMF_DIMENSIONS.proxy, proxy]);
  }

  function line(values: Readonly<Record<string, number>>, dimension: readonly [name: string, value: string] | null) {
    if (Object.keys(values).length > 0) write(emfLine(clock.now(), values, dimension));
  }

  function addUsage(usage: Usage): void {
    const { requests: sent, bytesUp: up, bytesDown: down } = EMF.perProxy;
    for (const { proxy, requests, bytesUp, bytesDown } of usage) {
      const { [sent]: r = 0, [up]: u = 0, [down]: d = 0 } = used.get(proxy) ?? {};
      used.set(proxy, { [sent]: r + requests, [up]: u + bytesUp, [down]: d + bytesDown });
    }
  }

  function hear(event: EngineEvent): void {
    switch (event.kind) {
      case 'settled':
        add('settled', event.items.length);
        if (event.usage !== undefined) addUsage(event.usage);
        for (const { status, errorType } of event.items) {
          add(status, 1);
          if (status !== 'failed') continue;
          const type = errorType ?? 'unexpected';
          failures.set(type, (failures.get(type) ?? 0) + 1);
        }
        return;
      case 'job':
        if (event.because === 'trip') add('trips', 1);
        return;
      case 'dispatched':
        add('dispatched', event.batches);
        return;
      case 'reaped':
        add('expired', event.leases);
        add('lost', event.queued);
        return;
      case 'dead-letters':
        add('deadLetters', event.batches);
        return;
      case 'fenced':
        add('fenced', 1);
        return;
      case 'returned':
        if (isOwnError(event.because)) errors += 1;
        return;
      case 'engine-error':
        errors += 1;
    }
  }
}

/** One line: names and units of the values, then the values themselves. */
export function emfLine(
  at: number,
  values: Readonly<Record<string, number>>,
  dimension: readonly [name: string, value: string] | null,
): string {
  const [name, value] = dimension ?? [];
  const metrics = Object.keys(values).map((each) => ({ Name: each, Unit: 'Count' }));
  return JSON.stringify({
    _aws: {
      Timestamp: at,
      CloudWatchMetrics: [
        { Namespace: EMF_NAMESPACE, Dimensions: [name === undefined ? [] : [name]], Metrics: metrics },
      ],
    },
    ...(name === undefined ? {} : { [name]: value }),
    ...values,
  });
}

/** Less than the time between two lines, however short that is. */
const READ_MS = 5000;

async function jobsInProgress(ledger: Pick<JobBook, 'activeJobs'>) {
  const found = { jobs: 0, pending: 0 };
  for await (const { entries } of activeJobs(ledger)) {
    for (const { counts } of entries.filter(({ status }) => status === 'in_progress')) {
      found.jobs += 1;
      found.pending += pendingOf(counts);
    }
  }
  return found;
}
