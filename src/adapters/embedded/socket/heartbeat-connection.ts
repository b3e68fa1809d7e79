import type { WorkerLeases } from '../../../ports/ledger.ts';
import type { WorkerQueue } from '../../../ports/work-queue.ts';
import { type ConnectDeps, openLine } from './owner-line.ts';

/** What the heartbeat of a worker asks its owner. It has a thread of its own, which should load little more than this. */
export async function connectHeartbeat(deps: Omit<ConnectDeps, 'role'>): Promise<{
  readonly leases: Pick<WorkerLeases, 'renew'>;
  readonly queue: Pick<WorkerQueue, 'extend'>;
  readonly closed: Promise<string>;
  close(): Promise<void>;
}> {
  const line = await openLine({ ...deps, role: 'heartbeat' });
  return {
    leases: { renew: (tokens, until) => line.call('renew', tokens, until) },
    queue: { extend: (receipts, hideMs) => line.call('extend', receipts, hideMs) },
    closed: line.closed,
    close: () => line.close(),
  };
}
