import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../../ports/clock.ts';
import type { JobBook } from '../../ports/ledger.ts';
import { within } from '../../ports/within.ts';
import type { WorkQueue } from '../../ports/work-queue.ts';
import type { EventStream } from '../engine/events.ts';
import { countEvents } from './event-metrics.ts';
import { standingMetrics } from './standing-metrics.ts';

export type Metrics = ReturnType<typeof openMetrics>;

export interface MetricsDeps {
  readonly events: EventStream;
  readonly ledger: Pick<JobBook, 'activeJobs'>;
  readonly queue: Pick<WorkQueue, 'depth'>;
  readonly clock: Clock;
  readonly version: string;
  /** Open event streams. */
  readonly watchers: () => number;
}

/** The Prometheus metrics of a controller. They contain no ids: a label set per job would grow forever. */
export function openMetrics(deps: MetricsDeps) {
  const registry = new Registry();
  const registers = [registry];
  const counted = countEvents(deps.events, registry);
  const standing = standingMetrics(registry);
  const requests = requestDurations(registry);
  const failedReads = new Counter({
    name: 'trawl_metrics_read_errors_total',
    help: 'Times that the ledger or the queue could not be read for these metrics.',
    registers,
  });
  const watchers = new Gauge({ name: 'trawl_feed_watchers', help: 'Open event streams of jobs.', registers });
  const build = new Gauge({
    name: 'trawl_build_info',
    help: '1, and the version.',
    labelNames: ['version'],
    registers,
  });
  build.set({ version: deps.version }, 1);
  describeProcess(registry);
  let rendering: Promise<string> | null = null;

  return {
    contentType: registry.contentType,
    /** All metrics as text. Concurrent callers get the same text. */
    render(): Promise<string> {
      rendering ??= render().finally(() => {
        rendering = null;
      });
      return rendering;
    },
    /** `operation` is a name from the list of operations, never a part of the request. */
    observeRequest: requests,
    close: () => counted.close(),
  };

  async function render(): Promise<string> {
    counted.flush();
    watchers.set(deps.watchers());
    if (!(await readInTime())) {
      standing.forget();
      failedReads.inc();
    }
    return await registry.metrics();
  }

  /** Metrics are needed most when the ledger is in trouble: the others are reported anyway. */
  async function readInTime(): Promise<boolean> {
    const read = standing.read(deps).then(
      () => true,
      () => false,
    );
    return await within(deps.clock, READ_MS, read, () => false);
  }
}

/** Less than the ten seconds after which Prometheus gives up. */
const READ_MS = 5000;

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** More than the combinations of operations, methods and status classes in use; anything beyond is a bug of ours. */
const MAX_REQUEST_KINDS = 1000;

function requestDurations(registry: Registry) {
  const durations = new Histogram({
    name: 'trawl_http_request_duration_seconds',
    help: 'Duration of API requests, until the answer was written.',
    labelNames: ['operation', 'method', 'status_class'],
    buckets: REQUEST_SECONDS,
    registers: [registry],
  });
  const kinds = new Map<string, ReturnType<typeof durations.labels>>();
  const kindOf = (operation: string, method: string, statusClass: string) => {
    const key = `${operation} ${method} ${statusClass}`;
    const known = kinds.get(key);
    if (known !== undefined) return known;
    if (kinds.size >= MAX_REQUEST_KINDS) return durations.labels('other', 'other', statusClass);
    const kind = durations.labels(operation, method, statusClass);
    kinds.set(key, kind);
    return kind;
  };
  return (operation: string, method: string, status: number, seconds: number): void => {
    const statusClass = status >= 100 && status < 600 ? `${Math.floor(status / 100)}xx` : 'other';
    const kind = kindOf(operation, METHODS.includes(method) ? method : 'other', statusClass);
    kind.observe(Number.isFinite(seconds) ? Math.max(0, seconds) : 0);
  };
}

/** Gauges with names that end like counters, which Prometheus' own checks reject; their parts are reported by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Memory, processor time, event loop lag, garbage collection, open files. */
function describeProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}
