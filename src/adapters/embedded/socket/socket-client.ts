import { NO_USAGE } from '../../../domain/usage.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { WorkerHostPauses } from '../../../ports/host-pauses.ts';
import type { WorkerHostRecords } from '../../../ports/host-records.ts';
import type { WorkerHostSettings } from '../../../ports/host-settings.ts';
import type { HostShares } from '../../../ports/host-shares.ts';
import type { WorkerItemWaits } from '../../../ports/item-waits.ts';
import type { WorkerRecordings } from '../../../ports/kept-recordings.ts';
import type { WorkerLeases } from '../../../ports/ledger.ts';
import type { WorkerSiteData } from '../../../ports/site-data.ts';
import type { WorkerStepRecords } from '../../../ports/step-records.ts';
import type { WorkerQueue } from '../../../ports/work-queue.ts';
import type { Taken, WorkSource } from '../../../ports/work-source.ts';
import { type ConnectDeps, type OwnerLine, openLine } from './owner-line.ts';
import { sentReports } from './sent-reports.ts';
import { sentSteps } from './sent-steps.ts';

export interface OwnerConnection {
  readonly leases: Omit<WorkerLeases, 'claim'>;
  readonly queue: Pick<WorkerQueue, 'ack' | 'extend'>;
  readonly source: WorkSource;
  readonly hostPauses: WorkerHostPauses;
  readonly hostSettings: WorkerHostSettings;
  readonly hostShares: HostShares;
  readonly hostRecords: WorkerHostRecords;
  readonly stepRecords: WorkerStepRecords;
  readonly itemWaits: WorkerItemWaits;
  readonly siteData: WorkerSiteData;
  readonly recordings: WorkerRecordings;
  /** Resolves with the reason when the connection has ended, on either side. */
  readonly closed: Promise<string>;
  /** Says goodbye, which means that the worker has no leases left, and waits until the owner has received it. */
  close(): Promise<void>;
}

/** Throws what `openLine` throws. */
export async function connectToOwner(deps: ConnectDeps): Promise<OwnerConnection> {
  const line = await openLine(deps);
  const leases = leasesOver(line);
  return {
    leases,
    queue: queueOver(line),
    source: sourceOver(line, leases, deps.clock),
    hostPauses: pausesOver(line, deps.workerId),
    hostSettings: { list: () => line.call('hostSettings') },
    hostShares: sharesOver(line, deps.workerId),
    hostRecords: { report: (reports) => line.call('reportSeen', sentReports(reports)) },
    stepRecords: { report: (reports) => line.call('reportSteps', sentSteps(reports)) },
    itemWaits: { add: (waits, _worker, now) => line.call('addWaits', waits, now) },
    siteData: siteDataOver(line),
    recordings: { get: (key) => line.call('recording', key) },
    closed: line.closed,
    close: () => line.close(),
  };
}

function leasesOver(line: OwnerLine): OwnerConnection['leases'] {
  return {
    workOrder: (jobId) => line.call('workOrder', jobId),
    begin: (token, seq) => line.call('begin', token, seq),
    renew: (tokens, until) => line.call('renew', tokens, until),
    settle: (parts, now) => line.call('settle', parts, now),
    reportControl: (jobId, report, now) => line.call('reportControl', jobId, report, now),
    release: (token, because, now, usage = NO_USAGE) => line.call('release', token, because, now, usage),
  };
}

function sourceOver(line: OwnerLine, leases: OwnerConnection['leases'], clock: Clock): WorkSource {
  const undo = async (late: readonly Taken[]) => {
    const held = late.flatMap(({ answer }) => (typeof answer === 'object' ? [answer.token] : []));
    await Promise.all(held.map((token) => leases.release(token, 'drained', clock.now())));
    await line.call(
      'ack',
      late.map(({ delivery }) => delivery.receipt),
    );
  };
  return {
    take: (lane, room, leaseMs, signal) => line.take({ lane, room, leaseMs }, signal, undo),
  };
}

/**
 * Batches that are settled together end together. Their acknowledgements go in one call, which costs as much as one.
 */
function queueOver(line: OwnerLine): OwnerConnection['queue'] {
  let gathered: string[] = [];
  let sending: Promise<void> | null = null;
  const sendGathered = async () => {
    // When everything that the present event set off has come to rest, as in Outbox.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    const receipts = gathered;
    gathered = [];
    sending = null;
    await line.call('ack', receipts);
  };
  return {
    extend: (receipts, hideMs) => line.call('extend', receipts, hideMs),
    ack(receipts) {
      gathered.push(...receipts);
      sending ??= sendGathered();
      return sending;
    },
  };
}

function pausesOver(line: OwnerLine, workerId: string): WorkerHostPauses {
  return {
    async pause(report, worker, now) {
      if (worker !== workerId) throw new Error(`this connection is that of worker ${workerId}, not of ${worker}`);
      await line.call('pauseHost', report, now);
    },
    inForce: (now) => line.call('hostPauses', now),
  };
}

function sharesOver(line: OwnerLine, workerId: string): HostShares {
  return {
    async reserve(worker, asks, now) {
      if (worker !== workerId) throw new Error(`this connection is that of worker ${workerId}, not of ${worker}`);
      return await line.call('reserve', asks, now);
    },
  };
}

function siteDataOver(line: OwnerLine): WorkerSiteData {
  return {
    sites: { get: (id) => line.call('site', id) },
    pages: {
      look: (keys) => line.call('cachedPages', keys),
      note: (news) => line.call('notePages', news),
      // The owner carries out what it hears in order.
      tell: async (news) => line.tell('notePages', news),
    },
    errors: { look: (pages) => line.call('pathErrors', pages), note: (news) => line.call('notePaths', news) },
    turns: { take: (wish) => line.call('takeTurn', wish) },
  };
}
