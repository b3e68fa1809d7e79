import type { StepOf } from '../../domain/recording/step.ts';
import {
  describeCountTest,
  describeTextTest,
  passesCount,
  passesText,
  type TextTest,
} from '../../domain/recording/text-test.ts';
import { visibleText } from '../extract/visible-text.ts';
import { fail } from '../scrape-failure.ts';
import { NoMatch } from './engine.ts';
import type { StepScope } from './step-scope.ts';
import type { Wanted } from './wanted.ts';

/** Answers which alternative matched; null where none has to. */
export async function waitForElement(step: StepOf<'waitForElement'>, scope: StepScope): Promise<number | null> {
  const { engine } = scope;
  const wanted = scope.aimed(step);
  const { state = 'visible', count, text } = step;
  const test = text === undefined ? null : text;
  const seen = await scope.until(scope.timeoutMs(step), async () => {
    if (count === undefined && test === null) {
      if (state === 'hidden') return (await engine.isVisible(wanted)) ? null : { alternative: null };
      if (state === 'visible' && !(await engine.isVisible(wanted))) return null;
    }
    const { elements, alternative } = await engine.look(wanted, 'fresh');
    if (count !== undefined && !passesCount(count, elements.length)) return null;
    if (test !== null && !elements.some((element) => passesText(test, visibleText(element)))) return null;
    return alternative === null && count === undefined ? null : { alternative };
  });
  if (seen !== null) return seen.alternative;
  if (state === 'hidden') fail('structure_changed', `${wanted.described} is still visible`);
  if (count !== undefined || test !== null) throw new NoMatch(wanted, await insteadOf(wanted, step, test, scope));
  throw new NoMatch(wanted);
}

async function insteadOf(
  wanted: Wanted,
  { count }: StepOf<'waitForElement'>,
  test: TextTest | null,
  { engine }: StepScope,
): Promise<string> {
  const { elements } = await engine.look(wanted, 'fresh');
  if (count !== undefined && !passesCount(count, elements.length)) {
    return `there are ${elements.length} of ${wanted.described}, not ${describeCountTest(count)}`;
  }
  return `${wanted.described} does not say ${test === null ? '' : describeTextTest(test)}`;
}
