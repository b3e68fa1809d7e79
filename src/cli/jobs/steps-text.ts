import type { JobStepAnswer, JobStepsAnswer } from '../../contract/step-answers.ts';
import { formatCount, formatItems, formatTook, printable } from '../format.ts';

/** Leaves room on the screen for the rest of the status. */
const MAX_LINES = 20;

/** A line per step of a recording; empty for a job without one. Not in the answers of an older server. */
export function stepsLines(answer: JobStepsAnswer | null | undefined): string[] {
  if (!answer || answer.steps.length === 0) return [];
  const { steps, failures_elsewhere: elsewhere } = answer;
  // If there are too many, those that fail or drift are shown first.
  const telling = steps.length <= MAX_LINES ? steps : steps.toSorted((a, b) => tellingOf(b) - tellingOf(a));
  const shown = new Set(telling.slice(0, MAX_LINES));
  const rest = steps.length - shown.size;
  return [
    '',
    'Steps:',
    ...steps.filter((step) => shown.has(step)).map(stepLine),
    ...(rest > 0 ? [`  and ${formatItems(rest, 'other step')}`] : []),
    ...(elsewhere > 0 ? [`  ${formatItems(elsewhere, 'item')} failed, but not at a step`] : []),
  ];
}

function tellingOf({ failures, drift }: JobStepAnswer): number {
  return failures + (drift === null ? 0 : Number.MAX_SAFE_INTEGER / 2);
}

/** `  4. click "Search": 200 items, median 340 ms, 90 % within 1.2 s; 97 % of failures (180 structure_changed)`. */
function stepLine({ step, description, items, duration_ms: took, ...rest }: JobStepAnswer): string {
  const { failures, failures_pct: share, failure_types: types, drift } = rest;
  const times = took === null ? '' : `, median ${formatTook(took.p50)}, 90 % within ${formatTook(took.p90)}`;
  const counted = types.map(({ type, count }) => `${formatCount(count)} ${printable(type, 40)}`).join(', ');
  const facts = [
    `${formatItems(items)}${times}`,
    ...(failures > 0 ? [`${share} % of failures (${counted})`] : []),
    ...(drift === null ? [] : ['DRIFT: see the warning']),
  ];
  return `  ${printable(step, 120)}. ${printable(description, 120)}: ${facts.join('; ')}`;
}
