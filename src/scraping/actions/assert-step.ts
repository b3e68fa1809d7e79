import { failure } from '../../domain/failure.ts';
import type { StepOf } from '../../domain/recording/step.ts';
import type { PageFailure } from '../../domain/recording/step-fields.ts';
import {
  describeCountTest,
  describeTextTest,
  describeUrlTest,
  passesCount,
  passesUrl,
} from '../../domain/recording/text-test.ts';
import { expect } from '../extract/expect.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import { says, textNow } from './check-condition.ts';
import { NoMatch } from './engine.ts';
import type { StepScope } from './step-scope.ts';
import { waitForElement } from './wait-for-element.ts';

type AssertStep = StepOf<'assertText' | 'assertElement' | 'assertCount' | 'assertUrl' | 'assertSameItem'>;

/** Pages may need a moment: an assertion that does not hold yet is looked at again until its time is over. */
export async function assertStep(step: AssertStep, scope: StepScope): Promise<number | null> {
  const { engine } = scope;
  const timeoutMs = scope.timeoutMs(step);
  switch (step.type) {
    case 'assertText': {
      const test = step.text;
      const isSo = await scope.until(timeoutMs, async () => ((await says(step, test, scope)) ? true : null));
      if (isSo === null) deny(step, 'navigation_failed', `the page does not say ${describeTextTest(test)}`);
      return null;
    }
    case 'assertUrl': {
      const test = step.url;
      const isSo = await scope.until(timeoutMs, async () => (passesUrl(test, engine.url()) ? true : null));
      if (isSo === null)
        deny(step, 'navigation_failed', `the page is at ${engine.url()}, not at ${describeUrlTest(test)}`);
      return null;
    }
    case 'assertCount': {
      const wanted = scope.aimed(step);
      let count = 0;
      const isSo = await scope.until(timeoutMs, async () => {
        count = (await engine.look(wanted, 'fresh')).elements.length;
        return passesCount(step.count, count) ? true : null;
      });
      if (isSo !== null) return null;
      return deny(
        step,
        'structure_changed',
        `there are ${count} of ${wanted.described}, not ${describeCountTest(step.count)}`,
      );
    }
    case 'assertElement': {
      const { name: _, failure: type, message, ...rest } = step;
      try {
        return await waitForElement({ ...rest, type: 'waitForElement' }, scope);
      } catch (error) {
        if (type === undefined && message === undefined) throw error;
        if (!(error instanceof NoMatch || error instanceof ScrapeFailure)) throw error;
        return deny(step, 'structure_changed', error.message);
      }
    }
    case 'assertSameItem': {
      const wanted = scope.aimed(step);
      const value = step.value;
      const found = await scope.until(timeoutMs, () => textNow(step, scope));
      if (found === null) throw new NoMatch(wanted);
      try {
        expect.sameItem(found, value, ...(step.compare === undefined ? [] : [COMPARED[step.compare]]));
      } catch (error) {
        return deny(step, 'navigation_failed', error instanceof Error ? error.message : String(error));
      }
      return null;
    }
  }
}

const COMPARED = {
  alphanumeric: (id: string) => id.toUpperCase().replace(/[^\p{L}\p{N}]/gu, ''),
  digits: (id: string) => id.replace(/\D/g, ''),
  exact: (id: string) => id.replace(/\s+/g, ' ').trim(),
} as const;

function deny(step: AssertStep, type: PageFailure, what: string): never {
  throw new ScrapeFailure(failure(step.failure ?? type, step.message ?? what));
}
