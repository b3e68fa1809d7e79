import type { Leadership } from '../../src/ports/leadership.ts';
import type { DueTimes, LatestTimes, Ledger } from '../../src/ports/ledger.ts';
import { draftFor } from './draft-port.ts';
import type { SeenCall } from './oracle/seen-call.ts';
import {
  showCause,
  showChange,
  showClaims,
  showDispatched,
  showEvent,
  showHint,
  showItems,
  showJob,
  showJobs,
  showParts,
  showRefs,
} from './show.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

/** The ledger as one process of the world sees it: over a network that fails, on a disk that may be full. */
export function ledgerFor(process: SimProcess, sim: Sim): Ledger {
  const { backend, oracle } = sim;

  function read<T>(name: string, said: string, run: () => Promise<T>, show: (answer: T) => string): Promise<T> {
    return sim.network.call(process, {
      name,
      said,
      run: () => backend.during(run),
      show,
      callee: backend,
    });
  }

  /** `seen` tells the oracle what the call did. */
  function write<T>(
    name: string,
    said: string,
    run: () => Promise<T>,
    show: (answer: T) => string,
    seen: (answer: T) => SeenCall,
  ): Promise<T> {
    return sim.network.call(process, {
      name,
      said,
      show,
      run: () => oracle.inOrder(process, () => backend.during(run), seen),
      trouble: () => sim.disk.ledgerTrouble(),
      callee: backend,
    });
  }

  return {
    subscribe: (listener) =>
      backend.ledger.subscribe((change) => {
        if (sim.faults.strikes('hint-lost')) return;
        process.later(0, () => {
          sim.trace.add(sim.timeline.now, process.name, `~ ${showHint(change)}`);
          listener(change);
        });
      }),
    job: (jobId) => read('job', jobId, () => backend.ledger.job(jobId), showJob),
    jobs: (query) => read('jobs', String(query.status), () => backend.ledger.jobs(query), showJobs),
    activeJobs: (page) => read('activeJobs', '', () => backend.ledger.activeJobs(page), showJobs),
    item: (jobId, itemId) =>
      read(
        'item',
        `${jobId} ${itemId}`,
        () => backend.ledger.item(jobId, itemId),
        (item) => String(item?.status),
      ),
    items: (jobId, filter, page) =>
      read('items', `${jobId} after ${page.after}`, () => backend.ledger.items(jobId, filter, page), showItems),
    itemsAt: (jobId, first, limit) =>
      read(
        'itemsAt',
        `${jobId} from ${first}`,
        () => backend.ledger.itemsAt(jobId, first, limit),
        (entries) => showItems({ entries, next: null }),
      ),
    failureGroups: (jobId, max) =>
      read(
        'failureGroups',
        jobId,
        () => backend.ledger.failureGroups(jobId, max),
        (groups) => String(groups.length),
      ),
    workOrder: (jobId) =>
      read(
        'workOrder',
        jobId,
        () => backend.ledger.workOrder(jobId),
        (order) => String(order?.policyRevision),
      ),

    createJob: (job, items, now) =>
      write(
        'createJob',
        `${job.jobId} ${items.length} items`,
        () => backend.ledger.createJob(job, items, now),
        ({ kind }) => kind,
        (answer) => ({ method: 'createJob', job, items, answer }),
      ),
    draftJob: () => draftFor(process, sim),
    changeJob: (jobId, event, now) => {
      if (process.name !== 'user') sim.onEngineDecision(jobId);
      if (event.kind === 'remove') oracle.mayBeGone(jobId, event.incarnation);
      return write(
        'changeJob',
        `${jobId} ${showEvent(event)}`,
        () => backend.ledger.changeJob(jobId, event, now),
        showChange,
        (answer) => ({ method: 'changeJob', jobId, event, now, answer }),
      );
    },
    removeJob: (jobId, incarnation) =>
      write(
        'removeJob',
        `${jobId}#${incarnation}`,
        () => backend.ledger.removeJob(jobId, incarnation),
        String,
        (answer) => ({ method: 'removeJob', jobId, incarnation, answer }),
      ),
    addItems: (jobId, items, openUntil, now) => {
      oracle.mayBeCorrected(jobId, items);
      return write(
        'addItems',
        `${jobId} ${items.length} items`,
        async () => {
          const answer = await backend.ledger.addItems(jobId, items, openUntil, now);
          if (answer.kind === 'added' && answer.replaced.length > 0) sim.faults.count('inputs replaced');
          return answer;
        },
        (answer) =>
          answer.kind === 'added' ? `${answer.added} added, ${answer.replaced.length} replaced` : answer.kind,
        (answer) => ({ method: 'addItems', jobId, items, openUntil, answer }),
      );
    },
    reopen: (jobId, filter, page, openUntil, now) => {
      oracle.mayBeReopened(jobId);
      return write(
        'reopen',
        `${jobId} ${JSON.stringify(filter)}`,
        () => backend.ledger.reopen(jobId, filter, page, openUntil, now),
        (answer) => JSON.stringify(answer),
        (answer) => ({ method: 'reopen', jobId, filter, openUntil, answer }),
      );
    },
    recover: (jobId, by, items, now) => {
      oracle.mayBeRecovered(jobId, items);
      return write(
        'recover',
        `${jobId} by ${by} ${items.map(({ seq }) => seq).join(',')}`,
        async () => {
          const answer = await backend.ledger.recover(jobId, by, items, now);
          if ('kind' in answer && answer.kind === 'recovered' && answer.items > 0) sim.faults.count('items recovered');
          return answer;
        },
        (answer) => JSON.stringify(answer),
        (answer) => ({ method: 'recover', jobId, by, items, answer }),
      );
    },
    dispatch: (jobId, itemsPerBatch, now) => {
      oracle.lead.mustLead(process, 'dispatch');
      return write(
        'dispatch',
        jobId,
        () => backend.ledger.dispatch(jobId, itemsPerBatch, now),
        showDispatched,
        (answer) => ({ method: 'dispatch', jobId, now, answer }),
      );
    },
    claim: (refs, worker, until, now) => {
      const askedAt = sim.timeline.now;
      return write(
        'claim',
        showRefs(refs),
        () => backend.ledger.claim(refs, worker, until, now),
        showClaims,
        (answer) => ({ method: 'claim', refs, worker, until, askedAt, answer }),
      );
    },
    begin: (token, seq) =>
      write(
        'begin',
        `${token} ${seq}`,
        () => backend.ledger.begin(token, seq),
        String,
        (answer) => ({
          method: 'begin',
          token,
          seq,
          answer,
        }),
      ),
    renew: (tokens, until) =>
      write(
        'renew',
        tokens.join(','),
        () => backend.ledger.renew(tokens, until),
        (lost) => `lost ${lost.join(',')}`,
        (answer) => ({ method: 'renew', tokens, until, answer }),
      ),
    settle: (parts, now) =>
      write(
        'settle',
        showParts(parts),
        () => backend.ledger.settle(parts, now),
        (answers) => answers.join(' '),
        (answer) => ({ method: 'settle', parts, answer }),
      ),
    reportControl: async (jobId, report, now) => {
      const event = { kind: 'control', report } as const;
      await write(
        'reportControl',
        `${jobId} ${report.number}`,
        () => backend.ledger.changeJob(jobId, event, now),
        showChange,
        (answer) => ({ method: 'changeJob', jobId, event, now, answer }),
      );
    },
    release: (token, because, now, usage) =>
      write(
        'release',
        `${token} ${showCause(because)}`,
        () => backend.ledger.release(token, because, now, usage),
        String,
        (answer) => ({
          method: 'release',
          ...{ token, because, now, usage, answer },
        }),
      ),
    recall: (refs, now) =>
      write(
        'recall',
        showRefs(refs),
        () => backend.ledger.recall(refs, now),
        String,
        (answer) => ({
          method: 'recall',
          refs,
          answer,
        }),
      ),
    expire: (readTimes, limit) => {
      oracle.lead.mustLead(process, 'expire');
      let times: DueTimes | null = null;
      const readNow = () => {
        times = readTimes();
        return times;
      };
      return write(
        'expire',
        '',
        () => backend.ledger.expire(readNow, limit),
        ({ leases, queued }) => `${leases} leases, ${queued} queued`,
        (answer) => ({ method: 'expire', times, limit, answer }),
      );
    },
    clampTimes: (readLatest) => {
      oracle.lead.mustLead(process, 'clampTimes');
      let latest: LatestTimes | null = null;
      const readNow = () => {
        latest = readLatest();
        return latest;
      };
      return write(
        'clampTimes',
        '',
        () => backend.ledger.clampTimes(readNow),
        String,
        (answer) => ({ method: 'clampTimes', latest, answer }),
      );
    },
    abandon: (worker, now) =>
      write(
        'abandon',
        worker,
        () => backend.ledger.abandon(worker, now),
        String,
        (answer) => ({
          method: 'abandon',
          worker,
          now,
          answer,
        }),
      ),
  };
}

export function leadershipFor(process: SimProcess, sim: Sim): Leadership {
  const { backend, oracle } = sim;
  const common = {
    trouble: () => sim.disk.ledgerTrouble(),
    callee: backend,
  };
  return {
    async lead(holder, until, now) {
      const askedAt = process.clock.elapsed();
      const leads = await sim.network.call(process, {
        ...common,
        name: 'lead',
        said: '',
        run: () => backend.during(() => backend.leadership.lead(holder, until, now)),
        show: String,
        applied: (answer) => oracle.lead.asked(holder, answer !== false, until, now),
      });
      oracle.lead.heard(process, leads !== false, askedAt + sim.timing.leadMs);
      return leads;
    },
    resign: (holder) =>
      sim.network.call(process, {
        ...common,
        name: 'resign',
        said: '',
        run: () => backend.during(() => backend.leadership.resign(holder)),
        show: () => '',
        applied: () => oracle.lead.resigned(holder),
      }),
  };
}
