import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { FAILURE_TYPES, type FailureType } from '../../domain/failure.ts';
import type { SettledItem } from '../../ports/ledger.ts';
import { isOwnError } from '../../ports/return-cause.ts';
import type { EngineEvent, EventStream } from '../engine/events.ts';
import { countUsage } from './usage-metrics.ts';

/**
 * Counts events as they happen. Every label set exists from the beginning, at 0, so that rates are right from then on.
 */
export function countEvents(events: EventStream, registry: Registry): { flush(): void; close(): void } {
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });

  const items = countItems(registry);
  const used = countUsage(registry);
  const trips = counter('trawl_breaker_trips_total', 'Circuit breakers of jobs that tripped.');
  const fenced = counter('trawl_fenced_writes_total', 'Late writes rejected because the worker had lost its lease.');
  const errors = counter('trawl_engine_errors_total', 'Unexpected errors. The engine continues; see the log.');
  const leases = counter('trawl_leases_reaped_total', 'Leases that expired because their worker went silent.');
  const lost = counter('trawl_batches_lost_total', 'Batches taken back because their message never arrived.');
  const dead = counter('trawl_dead_letters_total', 'Batches whose message was delivered repeatedly but never claimed.');
  const workers = gauge('trawl_workers_connected', 'Workers connected to this controller.');
  const trouble = gauge('trawl_storage_trouble', '1 while the storage cannot be written and jobs wait for it.');
  const leading = gauge('trawl_leading', '1 while this controller leads.');
  const ended = new Counter({
    name: 'trawl_jobs_ended_total',
    help: 'Times that jobs ended, by status.',
    labelNames: ['status'],
    registers,
  });
  for (const status of ENDS) ended.inc({ status }, 0);

  const connected = new Set<string>();
  const unsubscribe = events.subscribe(hear);
  return { flush: items.flush, close: () => unsubscribe() };

  function hear(event: EngineEvent): void {
    switch (event.kind) {
      case 'settled':
        items.count(event.items);
        if (event.usage !== undefined) used.count(event.usage);
        return;
      case 'job':
        if (event.because === 'trip') trips.inc();
        if (['complete', 'cancel', 'trip'].includes(event.because) && ENDS.includes(event.job.status)) {
          ended.inc({ status: event.job.status });
        }
        return;
      case 'fenced':
        fenced.inc();
        return;
      case 'engine-error':
        errors.inc();
        return;
      case 'returned':
        if (isOwnError(event.because)) errors.inc();
        return;
      case 'reaped':
        leases.inc(event.leases);
        lost.inc(event.queued);
        return;
      case 'dead-letters':
        dead.inc(event.batches);
        return;
      case 'worker-joined':
        workers.set(connected.add(event.worker).size);
        return;
      case 'worker-left':
        connected.delete(event.worker);
        workers.set(connected.size);
        return;
      case 'storage-trouble':
      case 'storage-recovered':
        trouble.set(event.kind === 'storage-trouble' ? 1 : 0);
        return;
      case 'leading':
      case 'following':
        leading.set(event.kind === 'leading' ? 1 : 0);
    }
  }
}

const ENDS: readonly string[] = ['completed', 'failed', 'cancelled'];

/** From a page of a quick site to the longest that an item may take. */
const ATTEMPT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/**
 * Ten thousand items a second pass through here: they are counted in plain numbers, which are added to the counters
 * when the metrics are read, and their durations go into histograms that need no look-up.
 */
function countItems(registry: Registry) {
  const registers = [registry];
  const counted = new Counter({
    name: 'trawl_items_total',
    help: 'Items that finished, by outcome; failures by type.',
    labelNames: ['status', 'error_type'],
    registers,
  });
  const refused = new Counter({
    name: 'trawl_egress_refusals_total',
    help: 'Items that failed because they asked for an address that is not allowed.',
    registers,
  });
  const duration = new Histogram({
    name: 'trawl_attempt_duration_seconds',
    help: 'Duration of attempts in their worker, including all tries.',
    labelNames: ['status'],
    buckets: ATTEMPT_SECONDS,
    registers,
  });
  for (const status of ['success', 'failed', 'skipped']) duration.zero({ status });
  const durations = {
    success: duration.labels('success'),
    failed: duration.labels('failed'),
    skipped: duration.labels('skipped'),
  };
  const ended = { success: 0, skipped: 0 };
  const failed = Object.fromEntries(FAILURE_TYPES.map((type) => [type, 0])) as Record<FailureType, number>;
  flush();
  return { count, flush };

  function count(items: readonly SettledItem[]): void {
    for (const { status, errorType, durationMs } of items) {
      if (status === 'failed') failed[errorType ?? 'unexpected'] += 1;
      else ended[status] += 1;
      // Measured in another process, and a histogram accepts only numbers.
      durations[status].observe(Number.isFinite(durationMs) ? Math.max(0, durationMs) / 1000 : 0);
    }
  }

  function flush(): void {
    for (const status of ['success', 'skipped'] as const) {
      counted.inc({ status, error_type: 'none' }, ended[status]);
      ended[status] = 0;
    }
    refused.inc(failed.refused_address);
    for (const type of FAILURE_TYPES) {
      counted.inc({ status: 'failed', error_type: type }, failed[type]);
      failed[type] = 0;
    }
  }
}
