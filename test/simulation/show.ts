import type { ItemRecord } from '../../src/domain/item.ts';
import { isRefusal, type JobEvent, type JobRecord, type Refusal } from '../../src/domain/job.ts';
import type { Room } from '../../src/domain/slot-share.ts';
import type { ClaimAnswer, Dispatched, LedgerChange, Page, SettlePart } from '../../src/ports/ledger.ts';
import { isHeldBack, type ReturnCause } from '../../src/ports/return-cause.ts';
import type { BatchRef, Delivery } from '../../src/ports/work-queue.ts';

/** Arguments and answers in a few words, for the trace: everything that distinguishes one run from another. */

export function showRefs(refs: readonly BatchRef[]): string {
  return refs.map(({ jobId, batchId }) => `${jobId}:${batchId}`).join(',');
}

export function showJob(job: JobRecord | null): string {
  if (job === null) return 'none';
  const { counts: c, tally } = job;
  const flight = `q${c.queued} p${c.inProgress}/${job.itemsInFlight}`;
  const done = `s${c.success} f${c.failed} k${c.skipped} c${c.cancelled} of ${c.total}`;
  const going = job.removing === undefined ? '' : ` removing ${job.removing}`;
  return `${job.jobId}#${job.incarnation}${going} ${job.status} ${job.circuit.state} r${job.round} ${flight} ${done} t${tally.finished}/${tally.failed}/${tally.streak} x${job.fenced}`;
}

export function showJobs(page: Page<JobRecord>): string {
  return page.entries.map((job) => `${job.jobId}=${job.status}`).join(' ');
}

export function showChange(answer: JobRecord | Refusal | 'missing'): string {
  if (answer === 'missing') return answer;
  return isRefusal(answer) ? `refused: ${answer.refused}` : showJob(answer);
}

export function showEvent(event: JobEvent): string {
  switch (event.kind) {
    case 'pause':
      return `pause (${event.reason.code})`;
    case 'policy':
      return `policy ${JSON.stringify(event.policy.throttling)} ${JSON.stringify(event.policy.circuit_breaker)}`;
    case 'replace-results':
      return `replace results by ${event.by}`;
    case 'remove':
    case 'remove-for-good':
    case 'keep':
      return `${event.kind} ${event.incarnation}`;
    case 'manifest':
      return `manifest of round ${event.round} ${event.manifest.metadataSha256.slice(0, 8)}`;
    default:
      return event.kind;
  }
}

export function showCause(because: ReturnCause): string {
  if (typeof because === 'string') return because;
  return isHeldBack(because) ? `held by ${because.host} until ${because.until}` : `error (${because.error})`;
}

export function showDispatched(answer: Dispatched | null): string {
  if (answer === null) return 'no job';
  return `${answer.plan.kind} ${showRefs(answer.refs)}`;
}

export function showClaims(answers: readonly ClaimAnswer[]): string {
  return answers.map(showClaim).join(' ');
}

function showClaim(answer: ClaimAnswer): string {
  if (typeof answer === 'string') return answer;
  const items = answer.items.map(({ seq, attempt }) => `${seq}#${attempt}`).join(',');
  return `${answer.suspect ? 'suspect ' : ''}${answer.token}[${items}]`;
}

export function showParts(parts: readonly SettlePart[]): string {
  return parts.map(({ jobId, token, items }) => `${jobId}:${token}[${items.map(showSettled).join(',')}]`).join(' ');
}

function showSettled({ seq, attempt, outcome }: SettlePart['items'][number]): string {
  const end = outcome.kind === 'failed' ? outcome.failure.type : outcome.kind;
  return `${seq}#${attempt}=${end}`;
}

export function showDeliveries(deliveries: readonly Delivery[]): string {
  return deliveries.map(({ ref, receipt }) => `${ref.jobId}:${ref.batchId}@${receipt}`).join(' ');
}

export function showItems(page: Page<ItemRecord>): string {
  return `${page.entries.map(({ seq, status }) => `${seq}${status.slice(0, 2)}`).join(' ')} next ${page.next}`;
}

export function showHint(change: LedgerChange): string {
  switch (change.kind) {
    case 'job':
      return `job ${change.job.jobId} ${change.job.status} because ${change.because}`;
    case 'settled':
      return `settled ${change.jobId} ${change.items.map(({ seq, status }) => `${seq}=${status}`).join(',')}`;
    case 'returned':
      return `returned ${change.jobId}:${change.batchId} ${showCause(change.because)}`;
    case 'fenced':
      return `fenced ${change.jobId}:${change.batchId}`;
    case 'dispatched':
    case 'claimed':
      return `${change.kind} ${change.jobId} ${change.batches}`;
  }
}

export function showRoom({ freeSlots, freePlaces, jobs }: Room): string {
  return `${freeSlots}/${freePlaces} ${jobs.map(([jobId, busy, held]) => `${jobId} ${busy}/${held}`).join(' ')}`;
}
