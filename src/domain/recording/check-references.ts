import type { z } from 'zod';
import { compileHosts } from '../allowed-hosts.ts';
import type { PlacedPlaceholder } from './placeholders.ts';
import { problemAt, type RecordingProblem } from './problem.ts';
import type { RECORDING } from './recording.ts';
import { ROW } from './selector.ts';
import { nestedSteps, type Step } from './step.ts';
import { walkSteps } from './step-path.ts';
import { hasPlaceholder } from './template.ts';

type Checked = z.output<typeof RECORDING>;

/** What a schema cannot see: names that must be somewhere else in the recording. */
export function checkReferences(
  recording: Checked,
  placeholders: readonly PlacedPlaceholder[],
): readonly RecordingProblem[] {
  return [
    ...checkCalls(recording),
    ...checkVariables(recording, placeholders),
    ...checkPlaces(recording),
    ...checkRows(recording, placeholders),
  ];
}

function checkCalls(recording: Checked): RecordingProblem[] {
  const { sequences } = recording;
  const problems: RecordingProblem[] = [];
  for (const { path, step } of walkSteps(recording)) {
    if (step.type === 'call' && !Object.hasOwn(sequences, step.sequence)) {
      problems.push(at(path, step, 'sequence', `there is no sequence "${step.sequence}"`));
    }
  }
  if (problems.length > 0) return problems;
  const circle = findCircle(sequences);
  if (circle === null) return [];
  for (const { path, step } of walkSteps(recording)) {
    const isPart = step.type === 'call' && step.sequence === circle[0] && path.startsWith(`${circle.at(-2)}.`);
    if (isPart) return [at(path, step, 'sequence', `calls itself without end: ${circle.join(' → ')}`)];
  }
  return [];
}

/** Names of sequences that call each other in a circle, the first again at the end. */
function findCircle(sequences: Checked['sequences']): readonly string[] | null {
  const done = new Set<string>();
  const visit = (name: string, above: readonly string[]): readonly string[] | null => {
    if (above.includes(name)) return [...above.slice(above.indexOf(name)), name];
    if (done.has(name)) return null;
    for (const called of findCalls(sequences[name] ?? [])) {
      const circle = visit(called, [...above, name]);
      if (circle !== null) return circle;
    }
    done.add(name);
    return null;
  };
  for (const name of Object.keys(sequences)) {
    const circle = visit(name, []);
    if (circle !== null) return circle;
  }
  return null;
}

function findCalls(steps: readonly Step[]): readonly string[] {
  return steps.flatMap((step) =>
    step.type === 'call' ? [step.sequence] : nestedSteps(step).flatMap(([, inner]) => findCalls(inner)),
  );
}

function checkVariables(recording: Checked, placeholders: readonly PlacedPlaceholder[]): RecordingProblem[] {
  const written = new Set<string>();
  for (const { step } of walkSteps(recording)) {
    if ('variable' in step && step.variable !== undefined) written.add(step.variable);
  }
  return placeholders
    .filter(({ placeholder: { root, path } }) => root === 'vars' && !written.has(path[0] ?? ''))
    .map(({ placeholder, path }) =>
      problemAt(recording, path, `${placeholder.source}: no step has "variable": "${placeholder.path[0]}"`),
    );
}

/** Addresses that are written out must be where the recording may go. */
function checkPlaces(recording: Checked): RecordingProblem[] {
  const problems: RecordingProblem[] = [];
  const isAllowed = compileHosts(recording.hosts);
  let opens = false;
  for (const { path, step } of walkSteps(recording)) {
    if (step.type !== 'goto' && step.type !== 'newTab' && step.type !== 'download') continue;
    const { url } = step;
    if (url === undefined) continue;
    opens = opens || step.type !== 'download';
    const origin = /^([a-z][a-z0-9+.-]*:)(?:\/\/)?([^/?#]*)/i.exec(url);
    if (origin === null) continue;
    const [start, scheme = '', host = ''] = origin;
    if (!/^https?:$/i.test(scheme)) {
      problems.push(at(path, step, 'url', `only http and https addresses can be opened, not ${scheme}`));
    } else if (!hasPlaceholder(start)) {
      const parsed = URL.parse(start);
      if (parsed === null || host === '') problems.push(at(path, step, 'url', 'is not an address'));
      else if (!isAllowed(parsed.host)) {
        problems.push(
          at(path, step, 'url', `${parsed.host} is not one of the recording's hosts (${recording.hosts.join(', ')})`),
        );
      }
    }
  }
  if (!opens) problems.push(problemAt(recording, ['steps'], 'no step opens a page: the first one should be a goto'));
  return problems;
}

/** `@row` and `{{row.number}}` need a loop around them. A sequence may be called from one. */
function checkRows(recording: Checked, placeholders: readonly PlacedPlaceholder[]): RecordingProblem[] {
  const problems: RecordingProblem[] = [];
  const visit = (steps: readonly Step[], prefix: string): void => {
    for (const [index, step] of steps.entries()) {
      const path = `${prefix}${index + 1}`;
      if ('within' in step && step.within === ROW)
        problems.push(at(path, step, 'within', `${ROW} needs a forEach around the step`));
      for (const [field, inner] of nestedSteps(step)) {
        if (step.type !== 'forEach') visit(inner, `${path}.${field}.`);
      }
    }
  };
  visit(recording.steps, '');
  for (const { placeholder, path } of placeholders) {
    if (placeholder.root !== 'row' || path[0] !== 'steps' || isInLoop(recording, path)) continue;
    problems.push(problemAt(recording, path, `${placeholder.source} needs a forEach or repeat around the step`));
  }
  return problems;
}

function isInLoop(recording: Checked, path: readonly (string | number)[]): boolean {
  let value: unknown = recording;
  for (const [index, key] of path.entries()) {
    const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : null;
    if ((type === 'forEach' || type === 'repeat') && path[index] === 'steps') return true;
    value = (value as Record<string | number, unknown>)[key];
  }
  return false;
}

function at(path: string, step: Step, field: string, message: string): RecordingProblem {
  return { step: path, stepType: step.type, field, message };
}
