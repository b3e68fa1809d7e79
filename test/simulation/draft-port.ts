import type { NewItem } from '../../src/domain/item.ts';
import type { JobDraft } from '../../src/ports/ledger.ts';
import { SimFault } from './network.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

/**
 * A draft as one process of the world sees it. It is lost with the owner of the ledger: a call to it in another life
 * of that owner fails. What is reported to the oracle is the commit, with all items added before: a job of the usual
 * kind, made in one step.
 */
export async function draftFor(process: SimProcess, sim: Sim): Promise<JobDraft> {
  const { backend, oracle } = sim;
  let life = 0;
  const items: NewItem[] = [];
  let isCommitted = false;

  function call<T>(name: string, said: string, run: () => Promise<T>, show: (answer: T) => string): Promise<T> {
    const trouble = () => sim.disk.ledgerTrouble();
    return sim.network.call(process, { name, said, run, show, trouble, callee: backend });
  }
  function inSameLife<T>(run: () => Promise<T>): Promise<T> {
    if (backend.life !== life) throw new SimFault('the draft is gone with the owner of the ledger');
    return backend.during(run);
  }

  const draft = await call(
    'draftJob',
    '',
    () => {
      life = backend.life;
      return backend.during(() => backend.ledger.draftJob());
    },
    () => '',
  );
  return {
    add: (place, some) =>
      call(
        'draft.add',
        `${place} ${some.length} items`,
        async () => {
          const repeated = await inSameLife(() => draft.add(place, some));
          if (items.length === place)
            items.push(...some.filter((_, at) => !repeated.some(({ index }) => index === at)));
          oracle.draftGrew();
          return repeated;
        },
        (repeated) => `${repeated.length} repeated`,
      ),
    items: (first, limit) =>
      call(
        'draft.items',
        `from ${first}`,
        () => inSameLife(() => draft.items(first, limit)),
        (some) => String(some.length),
      ),
    commit: (job, now) => {
      oracle.mayBeBorn(job.jobId);
      return call(
        'draft.commit',
        job.jobId,
        () =>
          oracle.inOrder(
            process,
            async () => inSameLife(() => draft.commit(job, now)),
            (answer) => {
              // A commit that was repeated on its way gets the same answer, and makes nothing.
              const seen = isCommitted ? { kind: 'exists' as const, job: answer.job } : answer;
              isCommitted ||= answer.kind === 'created';
              return { method: 'createJob', job, items: [...items], answer: seen };
            },
          ),
        ({ kind }) => kind,
      );
    },
    drop: () =>
      call(
        'draft.drop',
        '',
        () => inSameLife(() => draft.drop()),
        () => '',
      ),
  };
}
