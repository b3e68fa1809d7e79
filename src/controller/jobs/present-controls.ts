import type { JobAnswer } from '../../contract/job-answers.ts';
import { FRESH_CONTROLS } from '../../domain/control-state.ts';
import type { JobRecord } from '../../domain/job.ts';
import { itemsUntilControl } from '../../domain/job-controls.ts';

/** Null for a job that never had control items. */
export function presentControls(job: JobRecord): JobAnswer['controls'] {
  const { controls, policy } = job;
  if (controls === undefined && policy.controls.items.length === 0) return null;
  const { tried, good, last, goodAt, out, suspect } = controls ?? FRESH_CONTROLS;
  return {
    tried,
    good,
    last: last === null ? null : { ...last, at: iso(last.at) },
    last_good_at: goodAt === null ? null : iso(goodAt),
    next_after_items: itemsUntilControl(job),
    is_out: out !== null,
    reopens: suspect !== null,
  };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
