import type { ItemBook, JobBook, LeaseBook, Ledger } from './ledger.ts';

/** The parts of a ledger. */
export interface LedgerParts {
  readonly changes: Pick<Ledger, 'subscribe'>;
  readonly jobs: JobBook;
  readonly items: ItemBook;
  readonly leases: Leases;
  readonly returns: Returns;
}

/** How work comes back: done, given back, recalled, or lost. */
export type Returns = Pick<LeaseBook, 'settle' | 'release' | 'recall' | 'expire'>;

/** How work goes out and is leased. A control item's report is an event of its job. */
export type Leases = Omit<LeaseBook, keyof Returns | 'reportControl'>;

/** Composes a ledger. Every adapter has the same parts, so the methods are listed here and nowhere else. */
export function composeLedger({ changes, jobs, items, leases, returns }: LedgerParts): Ledger {
  return {
    subscribe: changes.subscribe.bind(changes),

    createJob: jobs.createJob.bind(jobs),
    draftJob: jobs.draftJob.bind(jobs),
    job: jobs.job.bind(jobs),
    jobs: jobs.jobs.bind(jobs),
    activeJobs: jobs.activeJobs.bind(jobs),
    changeJob: jobs.changeJob.bind(jobs),
    removeJob: jobs.removeJob.bind(jobs),

    addItems: items.addItems.bind(items),
    item: items.item.bind(items),
    items: items.items.bind(items),
    itemsAt: items.itemsAt.bind(items),
    reopen: items.reopen.bind(items),
    recover: items.recover.bind(items),
    failureGroups: items.failureGroups.bind(items),

    dispatch: leases.dispatch.bind(leases),
    claim: leases.claim.bind(leases),
    workOrder: leases.workOrder.bind(leases),
    begin: leases.begin.bind(leases),
    renew: leases.renew.bind(leases),
    clampTimes: leases.clampTimes.bind(leases),
    abandon: leases.abandon.bind(leases),

    reportControl: async (jobId, report, now) => {
      await jobs.changeJob(jobId, { kind: 'control', report }, now);
    },
    settle: returns.settle.bind(returns),
    release: returns.release.bind(returns),
    recall: returns.recall.bind(returns),
    expire: returns.expire.bind(returns),
  };
}
