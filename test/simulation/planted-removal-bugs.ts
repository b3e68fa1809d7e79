import type { JobEvent, JobRecord, Refusal } from '../../src/domain/job.ts';
import { MemoryJobBook } from '../support/memory/job-book.ts';
import type { ControllerPorts } from './plant.ts';

/** Mistakes in how jobs are deleted. */

/** Deletes the job that has the id by now, whichever it is. */
export class AnyIncarnationJobs extends MemoryJobBook {
  protected override decide(job: JobRecord, event: JobEvent, now: number): JobRecord | Refusal {
    const isRemoval = event.kind === 'remove' || event.kind === 'remove-for-good';
    return super.decide(job, isRemoval ? { ...event, incarnation: job.incarnation } : event, now);
  }

  protected override mayGo(): boolean {
    return true;
  }
}

/** The keys are reported as gone when their removal has only begun. */
export function freesTheIdEarly({ store }: ControllerPorts): Partial<ControllerPorts> {
  return {
    store: {
      ...store,
      async removeAll(prefix, watch) {
        watch?.onClear();
        return await store.removeAll(prefix, { mayGoOn: () => true, onClear() {} });
      },
    },
  };
}
