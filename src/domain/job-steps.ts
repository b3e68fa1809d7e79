/**
 * The life of a job. `pending` until the first batch goes out; a held job waits there for `start`. `failed` after the
 * breaker tripped: nothing is lost, and `resume` continues it. `completed` once every item is final and the result
 * index exists; a retry of failed items, or more items, begins a new round. `cancelled` is permanent.
 * Between its last item and its index a job is finishing (`isFinishing`): it is still `in_progress` or `paused`, and
 * `finishedAt` says since when nothing has been left to do.
 */
export type JobStatus = 'pending' | 'in_progress' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** The transitions between statuses of a job; everything else is refused. `docs/states.md` is generated from it. */
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
