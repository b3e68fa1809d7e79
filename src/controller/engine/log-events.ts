import type { Logger } from 'pino';
import { describeError, withoutSecrets } from '../../domain/describe-error.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { Clock } from '../../ports/clock.ts';
import { isHeldBack } from '../../ports/return-cause.ts';
import type { EngineEvent, EventStream } from './events.ts';

/** Logs one line per event that matters to an operator; items are counted, not listed. */
export function logEvents(events: EventStream, log: Logger): () => void {
  return events.subscribe((event) => {
    switch (event.kind) {
      case 'job':
        logJob(event, log);
        return;
      case 'engine-error':
        // Not as `err`, which pino would serialise with every field it finds.
        log.error({ where: event.where, error: describeError(event.error) }, 'engine error');
        return;
      case 'storage-trouble':
        log.warn({ problem: withoutSecrets(event.message) }, 'storage trouble');
        return;
      case 'storage-recovered':
        log.info('storage recovered');
        return;
      case 'fenced':
        log.warn({ job_id: event.jobId, batch_id: event.batchId }, 'late write refused');
        return;
      case 'worker-joined':
        log.info({ worker: event.worker }, 'worker joined');
        return;
      case 'worker-left': {
        const { worker, reason, abandoned } = event;
        // A worker that gave everything back was stopped properly.
        log[abandoned > 0 ? 'warn' : 'info']({ worker, reason: withoutSecrets(reason), abandoned }, 'worker left');
        return;
      }
      case 'connection-trouble':
        log.warn({ worker: event.worker, reason: withoutSecrets(event.reason) }, 'connection trouble');
        return;
      case 'leading':
      case 'following':
        log.info({ holder: event.holder }, event.kind);
        return;
      case 'manifest-written':
        log.info({ job_id: event.jobId, parts: event.parts }, 'results ready');
        return;
      case 'job-removed':
        log.info({ job_id: event.jobId }, 'job and results removed');
        return;
      case 'reaped':
        log.warn({ leases: event.leases, queued: event.queued }, 'reaped');
        return;
      case 'dead-letters':
        log.warn({ batches: event.batches }, 'dead letters');
        return;
      case 'sent':
        if (event.refused > 0) log.warn({ batches: event.batches, refused: event.refused }, 'queue refused batches');
        else log.debug({ batches: event.batches }, 'sent');
        return;
      case 'dispatched':
        log.debug({ job_id: event.jobId, batches: event.batches, items: event.items }, 'dispatched');
        return;
      case 'claimed':
        log.debug({ job_id: event.jobId, batches: event.batches }, 'claimed');
        return;
      case 'settled':
        log.debug({ job_id: event.jobId, items: event.items.length }, 'settled');
        return;
      case 'returned': {
        const { jobId, batchId, because, items } = event;
        const fields = { job_id: jobId, batch_id: batchId, items };
        if (typeof because === 'string') log.debug({ ...fields, because }, 'returned');
        else if (isHeldBack(because))
          log.debug({ ...fields, host: because.host, until: new Date(because.until).toISOString() }, 'returned');
        else log.error({ ...fields, error: withoutSecrets(because.error) }, 'returned after an error of our own');
      }
    }
  });
}

/** These occur once per chunk of an upload or of a retry, or another line says the same. */
const QUIET: readonly string[] = ['items', 'retry', 'recover', 'finish', 'manifest', 'send-control'];

function logJob({ job, because }: Extract<EngineEvent, { kind: 'job' }>, log: Logger): void {
  const level = QUIET.includes(because) ? 'debug' : because === 'trip' ? 'warn' : 'info';
  if (because === 'control') {
    logControl(job, log);
    return;
  }
  const { jobId, status, counts, reason } = job;
  log[level]({ job_id: jobId, status, because, counts, reason: reason && withoutSecrets(reason.message) }, 'job');
}

function logControl({ jobId, status, controls }: JobRecord, log: Logger): void {
  const { tried = 0, good = 0, last = null } = controls ?? {};
  const fields = { job_id: jobId, status, tried, good, result: last?.result, at: last?.at };
  log[last?.result === 'good' ? 'info' : 'warn'](
    { ...fields, message: withoutSecrets(last?.message ?? '') },
    'control',
  );
}

/**
 * While jobs run, logs a line for each every ten seconds: what was settled since, how much of it failed and why. The rest
 * is logged when the job stops. There is no timer: a job without settled items has nothing to log.
 */
export function logProgress(events: EventStream, log: Logger, clock: Clock): () => void {
  const spans = new Map<string, Span>();
  const unsubscribe = events.subscribe((event) => {
    if (event.kind === 'settled') {
      let span = spans.get(event.jobId);
      if (span === undefined) {
        const [oldest] = spans.keys();
        if (spans.size >= MAX_SPANS && oldest !== undefined) tell(oldest);
        span = { since: clock.elapsed(), settled: 0, failures: new Map() };
        spans.set(event.jobId, span);
      }
      span.settled += event.items.length;
      for (const { errorType } of event.items) {
        if (errorType !== null) span.failures.set(errorType, (span.failures.get(errorType) ?? 0) + 1);
      }
      if (clock.elapsed() - span.since >= SPAN_MS) tell(event.jobId);
    } else if (event.kind === 'job' && event.job.status !== 'in_progress' && event.job.status !== 'pending') {
      tell(event.job.jobId);
    }
  });
  return () => {
    unsubscribe();
    for (const jobId of [...spans.keys()]) tell(jobId);
  };

  function tell(jobId: string): void {
    const span = spans.get(jobId);
    if (span === undefined) return;
    spans.delete(jobId);
    const seconds = (clock.elapsed() - span.since) / 1000;
    const failed = span.failures.values().reduce((sum, count) => sum + count, 0);
    const fields = { job_id: jobId, settled: span.settled, failed, seconds: Math.round(seconds * 10) / 10 };
    const perSecond = seconds >= 1 ? Math.round((span.settled / seconds) * 10) / 10 : undefined;
    const failures = failed > 0 ? Object.fromEntries(span.failures) : undefined;
    log.info({ ...fields, per_second: perSecond, failures }, 'progress');
  }
}

const SPAN_MS = 10_000;
const MAX_SPANS = 1000;

interface Span {
  readonly since: number;
  settled: number;
  readonly failures: Map<string, number>;
}
