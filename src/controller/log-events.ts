import type { Logger } from 'pino';
import type { EventStream } from './events.ts';

/** One line per event that matters to whoever runs the engine; items are counted, not listed. */
export function logEvents(events: EventStream, log: Logger): void {
  events.subscribe((event) => {
    switch (event.kind) {
      case 'job': {
        const { jobId, status, counts, reason } = event.job;
        log.info({ job_id: jobId, status, because: event.because, counts, reason: reason?.message }, 'job');
        return;
      }
      case 'engine-error':
        log.error({ where: event.where, err: event.error }, 'engine error');
        return;
      case 'storage-trouble':
      case 'fenced':
      case 'worker-left':
      case 'connection-trouble':
        log.warn(event, event.kind);
        return;
      case 'leading':
      case 'following':
      case 'storage-recovered':
      case 'manifest-written':
      case 'reaped':
      case 'worker-joined':
        log.info(event, event.kind);
        return;
      case 'settled':
      case 'claimed':
      case 'dispatched':
      case 'returned':
      case 'sent':
        log.debug({ ...event, items: undefined }, event.kind);
    }
  });
}
