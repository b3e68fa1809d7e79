/**
 * The life of a job. `pending` until the first batch goes out; a held job waits there for `start`. `failed` is what a
 * tripped breaker makes of it: nothing is lost, and `resume` goes on. `completed` once every item is final and the index
 * of its results is there; a retry of failed items, or more items, open a new round. `cancelled` is for good.
 *
 * Between its last item and its index a job is finishing (`isFinishing`): it is still `in_progress` or `paused`, and
 * `finishedAt` says since when nothing is left to do.
 */
export type JobStatus = 'pending' | 'in_progress' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** What leads from one status of a job to another; what is not in it is refused. `docs/states.md` is made from it. */
export const NEXT_JOB_STATUS = {
  pending: { start: 'pending', add: 'pending', dispatch: 'in_progress', pause: 'paused', cancel: 'cancelled' },
  in_progress: {
    add: 'in_progress',
    dispatch: 'in_progress',
    pause: 'paused',
    fail: 'failed',
    cancel: 'cancelled',
    finish: 'in_progress',
    complete: 'completed',
    close: 'in_progress',
    retry: 'in_progress',
  },
  paused: {
    add: 'paused',
    pause: 'paused',
    resume: 'in_progress',
    probe: 'in_progress',
    cancel: 'cancelled',
    finish: 'paused',
    complete: 'completed',
    retry: 'paused',
  },
  failed: { add: 'failed', resume: 'in_progress', cancel: 'cancelled', retry: 'in_progress' },
  completed: { add: 'in_progress', retry: 'in_progress' },
  cancelled: {},
} as const satisfies Record<JobStatus, Partial<Record<JobStep, JobStatus>>>;

export type JobStep =
  | 'start'
  | 'add'
  | 'dispatch'
  | 'pause'
  | 'resume'
  | 'fail'
  | 'probe'
  | 'close'
  | 'cancel'
  | 'finish'
  | 'complete'
  | 'retry';

export const JOB_STATUSES = Object.keys(NEXT_JOB_STATUS) as JobStatus[];
