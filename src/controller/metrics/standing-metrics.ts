import { Gauge, type Registry } from 'prom-client';
import { pendingOf } from '../../domain/counts.ts';
import { JOB_STATUSES } from '../../domain/job-steps.ts';
import { LANES } from '../../domain/lane.ts';
import type { JobBook } from '../../ports/ledger.ts';
import type { WorkQueue } from '../../ports/work-queue.ts';
import { activeJobs } from './active-jobs.ts';

/** The current state: read from ledger and queue, in pages, up to a limit. */
export function standingMetrics(registry: Registry): {
  read(from: { readonly ledger: Pick<JobBook, 'activeJobs'>; readonly queue: Pick<WorkQueue, 'depth'> }): Promise<void>;
  /** Values that could not be read are absent, rather than outdated. */
  forget(): void;
} {
  const registers = [registry];
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers });
  const jobs = gauge('trawl_active_jobs', 'Jobs that the engine has work for.', 'status');
  const items = gauge('trawl_active_items', 'Items of active jobs; queued and in_progress are in flight.', 'status');
  const circuits = gauge('trawl_active_jobs_broken', 'Active jobs whose circuit is not closed.', 'circuit');
  const all = gauge('trawl_active_jobs_all_counted', '0 if there are too many active jobs to count all of them.');
  const queued = gauge('trawl_queue_batches', 'Messages in the work queue.', 'lane', 'state');
  return {
    async read({ ledger, queue }) {
      const [standing, depths] = await Promise.all([countActive(ledger), queue.depth()]);
      for (const status of JOB_STATUSES) jobs.set({ status }, standing.jobs.get(status) ?? 0);
      for (const [status, count] of Object.entries(standing.items)) items.set({ status }, count);
      for (const [circuit, count] of Object.entries(standing.circuits)) circuits.set({ circuit }, count);
      all.set(standing.isAll ? 1 : 0);
      for (const lane of LANES) {
        const depth = depths.find((each) => each.lane === lane);
        queued.set({ lane, state: 'waiting' }, depth?.waiting ?? 0);
        queued.set({ lane, state: 'delivered' }, depth?.delivered ?? 0);
      }
    },
    forget() {
      for (const each of [jobs, items, circuits, queued]) each.reset();
      all.set(0);
    },
  };
}

async function countActive(ledger: Pick<JobBook, 'activeJobs'>) {
  const jobs = new Map<string, number>();
  const items = { pending: 0, queued: 0, in_progress: 0 };
  const circuits = { open: 0, probing: 0 };
  let isAll = true;
  for await (const { entries, next } of activeJobs(ledger)) {
    for (const { status, counts, circuit } of entries) {
      jobs.set(status, (jobs.get(status) ?? 0) + 1);
      items.pending += pendingOf(counts);
      items.queued += counts.queued;
      items.in_progress += counts.inProgress;
      if (circuit.state !== 'closed') circuits[circuit.state] += 1;
    }
    isAll = next === null;
  }
  return { jobs, items, circuits, isAll };
}
