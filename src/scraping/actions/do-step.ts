import type { SimpleStep, StepOf } from '../../domain/recording/step.ts';
import {
  describeTextTest,
  describeUrlTest,
  passesText,
  passesUrl,
  type UrlTest,
} from '../../domain/recording/text-test.ts';
import { fail } from '../scrape-failure.ts';
import { assertStep } from './assert-step.ts';
import { says } from './check-condition.ts';
import type { Interaction, OptionChoice } from './engine.ts';
import type { ReadingStep } from './read-step.ts';
import type { StepScope } from './step-scope.ts';
import { waitForElement } from './wait-for-element.ts';
import type { Aim } from './wanted.ts';

/** Steps that keep bytes. */
export type KeepingStep = StepOf<'screenshot' | 'pdf' | 'download' | 'upload'>;

/** Steps that act on the page, wait for it or check it, and read nothing. */
export type DoingStep = Exclude<SimpleStep, ReadingStep | KeepingStep>;

/** Carries a step out. Answers which alternative matched; null for a step without any. */
export async function doStep(step: DoingStep, scope: StepScope, allowsScripts: boolean): Promise<number | null> {
  const { engine } = scope;
  const timeoutMs = step.type === 'waitForTime' ? step.ms : scope.timeoutMs(step);
  switch (step.type) {
    case 'goto':
      await engine.goto(checkedAddress(step.url, engine.url()), {
        waitUntil: step.waitUntil,
        timeoutMs: pageTimeout(step, scope),
      });
      return arrived(step, scope);
    case 'back':
    case 'forward':
    case 'reload':
      await engine.go(step.type, pageTimeout(step, scope));
      return arrived(step, scope);
    case 'newTab': {
      const from = engine.url();
      await engine.newTab();
      if (step.url !== undefined)
        await engine.goto(checkedAddress(step.url, from), { timeoutMs: pageTimeout(step, scope) });
      return null;
    }
    case 'switchTab': {
      const to = typeof step.to === 'object' ? { url: step.to.url } : step.to;
      await engine.switchTab(to, timeoutMs);
      return null;
    }
    case 'closeTab':
      await engine.closeTab();
      return null;
    case 'dialog':
      engine.answerDialogs(
        step.action === 'answer' ? { action: 'answer', text: step.text ?? '' } : { action: step.action },
      );
      return null;
    case 'waitForElement':
      return waitForElement(step, scope);
    case 'waitForText': {
      const test = step.text;
      const gone = step.gone === true;
      const isSo = await scope.until(timeoutMs, async () => ((await says(step, test, scope)) === gone ? null : true));
      if (isSo === null)
        fail('structure_changed', `the page ${gone ? 'still says' : 'does not say'} ${describeTextTest(test)}`);
      return null;
    }
    case 'waitForUrl':
      await waitForUrl(step.url, timeoutMs, scope);
      return null;
    case 'waitForTime':
      await engine.waitForTime(step.ms);
      return null;
    case 'waitForNetworkIdle':
      await engine.waitForNetworkIdle(step.idleMs ?? 500, timeoutMs);
      return null;
    case 'waitForResponse': {
      const { method = null, status = null } = step;
      await engine.waitForResponse({ url: step.url, method, status, isAnyTime: false }, timeoutMs);
      return null;
    }
    case 'waitForDownload':
      await engine.waitForDownload(timeoutMs);
      return null;
    case 'waitForExpression':
      if (!allowsScripts) fail('invalid_input', 'scripts of recordings are not allowed here (TRAWL_RECORDING_SCRIPTS)');
      await engine.waitForExpression(step.expression, timeoutMs);
      return null;
    case 'assertText':
    case 'assertElement':
    case 'assertCount':
    case 'assertUrl':
    case 'assertSameItem':
      return assertStep(step, scope);
    case 'press':
      if (step.selectors === undefined) {
        const key = step.key;
        await navigating(step, scope, () => engine.interactWithPage({ type: 'press', key }));
        return null;
      }
      return interact(step, { type: 'press', key: step.key }, scope);
    case 'scroll':
      return scroll(step, scope);
    default:
      return interact(step, interactionOf(step, scope), scope);
  }
}

/** Absolute. The value of an input may be anything, such as a script. */
function checkedAddress(url: string, from: string): string {
  const target = URL.parse(url) ?? URL.parse(url, from);
  if (target === null || !/^https?:$/.test(target.protocol)) {
    fail('invalid_input', `"${url.slice(0, 200)}" is not an address of a page`);
  }
  return target.href;
}

/** What `navigation` of a step promises. */
interface Navigating {
  readonly navigation?: { readonly url?: UrlTest | undefined; readonly title?: string | undefined } | undefined;
  readonly timeoutMs?: number | undefined;
}

/** A page takes longer than an element. */
function pageTimeout({ timeoutMs }: Navigating, { timeouts }: StepScope): number {
  return timeoutMs ?? timeouts.navigationMs;
}

async function interact(step: Aim & Navigating, action: Interaction, scope: StepScope): Promise<number> {
  const wanted = scope.aimed(step);
  return navigating(step, scope, () => scope.engine.interact(action, wanted, scope.timeoutMs(step)));
}

export async function navigating<T>(step: Navigating, scope: StepScope, act: () => Promise<T>): Promise<T> {
  if (step.navigation === undefined) return act();
  const done = await scope.engine.navigateBy(act, pageTimeout(step, scope));
  await arrived(step, scope);
  return done;
}

/** Makes sure that this is the page that the step leads to. */
async function arrived({ navigation, timeoutMs }: Navigating, scope: StepScope): Promise<null> {
  if (navigation?.url !== undefined) await waitForUrl(navigation.url, scope.timeoutMs({ timeoutMs }), scope);
  if (navigation?.title !== undefined) {
    const title = navigation.title;
    const titleNow = async () => (await scope.engine.page([], 'fresh')).optional.text('title');
    const isSo = await scope.until(scope.timeoutMs({ timeoutMs }), async () =>
      passesText({ equals: title }, (await titleNow()) ?? '') ? true : null,
    );
    if (isSo === null)
      fail('navigation_failed', `the page is not "${title}" but "${(await titleNow()) ?? ''}" (${scope.engine.url()})`);
  }
  return null;
}

async function waitForUrl(test: UrlTest, timeoutMs: number, scope: StepScope): Promise<void> {
  const isThere = await scope.until(timeoutMs, async () => (passesUrl(test, scope.engine.url()) ? true : null));
  if (isThere === null) {
    fail('navigation_failed', `the page is at ${scope.engine.url()}, not at ${describeUrlTest(test)}`);
  }
}

function interactionOf(
  step: StepOf<'click' | 'doubleClick' | 'hover' | 'type' | 'fill' | 'clear' | 'select' | 'check' | 'uncheck' | 'drag'>,
  scope: StepScope,
): Interaction {
  switch (step.type) {
    case 'click': {
      const { button = 'left', modifiers = [], offset = null, holdMs = 0 } = step;
      return { type: 'click', times: 1, button, modifiers, offset, holdMs };
    }
    case 'doubleClick':
      return { type: 'click', times: 2, button: 'left', modifiers: [], offset: step.offset ?? null, holdMs: 0 };
    case 'hover':
      return { type: 'hover' };
    case 'type': {
      const { clear = false, delayMs = 0 } = step;
      return { type: 'type', text: step.text, clear, delayMs };
    }
    case 'fill':
      return { type: 'fill', value: step.value };
    case 'clear':
      return { type: 'fill', value: '' };
    case 'select':
      return { type: 'select', choice: choiceOf(step) };
    case 'check':
    case 'uncheck':
      return { type: 'check', checked: step.type === 'check' };
    case 'drag':
      return { type: 'drag', to: scope.aimed({ selectors: step.to, frame: step.frame }) };
  }
}

function choiceOf({ value, label, index = 0 }: StepOf<'select'>): OptionChoice {
  if (label !== undefined) return { by: 'label', label: label };
  if (value === undefined) return { by: 'index', index };
  return { by: 'value', values: typeof value === 'string' ? [value] : value };
}

async function scroll(step: StepOf<'scroll'>, scope: StepScope): Promise<number | null> {
  const { x, y, to } = step;
  const by = x === undefined && y === undefined ? null : { x: x ?? 0, y: y ?? 0 };
  if (step.selectors !== undefined) return interact(step, { type: 'scroll', by }, scope);
  await navigating(step, scope, () => scope.engine.interactWithPage({ type: 'scroll', to: to ?? by ?? 'bottom' }));
  return null;
}
