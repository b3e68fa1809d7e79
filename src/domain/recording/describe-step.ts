import { describeCondition } from './condition.ts';
import type { Recording } from './recording.ts';
import { describeSelectors, type Selectors } from './selector.ts';
import type { Step } from './step.ts';
import { walkSteps } from './step-path.ts';
import { describeCountTest, describeTextTest, describeUrlTest } from './text-test.ts';

/** A step as a person would tell it: `click "Search"`. */
export function describeStep(step: Step): string {
  return step.name === undefined ? sayStep(step) : `${sayStep(step)} (${step.name})`;
}

/** Every step in a line: `4. click "Search"`, those inside of others indented. */
export function describeSteps(recording: Pick<Recording, 'steps' | 'sequences'>): readonly string[] {
  return [...walkSteps(recording)].map(
    ({ path, step, depth }) => `${'  '.repeat(depth)}${path}. ${describeStep(step)}`,
  );
}

function sayStep(step: Step): string {
  switch (step.type) {
    case 'goto':
      return `goto ${step.url}`;
    case 'back':
    case 'forward':
    case 'reload':
      return step.type;
    case 'newTab':
      return step.url === undefined ? 'open a tab' : `open a tab at ${step.url}`;
    case 'switchTab':
      return `switch to ${typeof step.to === 'number' ? `tab ${step.to}` : typeof step.to === 'string' ? `the ${step.to} tab` : `the tab at ${describeUrlTest(step.to.url)}`}`;
    case 'closeTab':
      return 'close the tab';
    case 'click':
    case 'hover':
    case 'clear':
    case 'check':
    case 'uncheck':
      return `${step.type} ${describeSelectors(step.selectors)}`;
    case 'doubleClick':
      return `double click ${describeSelectors(step.selectors)}`;
    case 'type':
      return `type ${quote(step.text)} into ${describeSelectors(step.selectors)}`;
    case 'fill':
      return `fill ${describeSelectors(step.selectors)} with ${quote(step.value)}`;
    case 'select':
      return `select ${step.index === undefined ? quote([step.value ?? step.label ?? ''].flat().join(', ')) : `option ${step.index}`} in ${describeSelectors(step.selectors)}`;
    case 'press':
      return `press ${step.key}${into(' in', step.selectors)}`;
    case 'scroll':
      return `scroll${step.to === undefined ? '' : ` to the ${step.to}`}${into(' to', step.selectors)}`;
    case 'drag':
      return `drag ${describeSelectors(step.selectors)} to ${describeSelectors(step.to)}`;
    case 'upload':
      return `upload ${step.files.length === 1 ? 'a file' : `${step.files.length} files`} to ${describeSelectors(step.selectors)}`;
    case 'dialog':
      return `${step.action} the next dialog${step.text === undefined ? '' : ` with ${quote(step.text)}`}`;
    case 'waitForElement':
      return `wait for ${step.count === undefined ? '' : `${describeCountTest(step.count)} of `}${describeSelectors(step.selectors)}${
        step.state === undefined || step.state === 'visible' ? '' : ` to be ${step.state}`
      }${step.text === undefined ? '' : ` to say ${describeTextTest(step.text)}`}`;
    case 'waitForText':
      return `wait ${step.gone === true ? 'until the page no longer says' : 'for the text'} ${describeTextTest(step.text)}`;
    case 'waitForUrl':
      return `wait for the address ${describeUrlTest(step.url)}`;
    case 'waitForTime':
      return `wait ${step.ms} ms`;
    case 'waitForNetworkIdle':
      return 'wait until the network is idle';
    case 'waitForResponse':
      return `wait for a response from ${describeUrlTest(step.url)}`;
    case 'waitForDownload':
      return 'wait for a download';
    case 'waitForExpression':
      return `wait for the expression ${quote(step.expression)}`;
    default:
      return sayReading(step);
  }
}

type Reading = Extract<
  Step,
  {
    type:
      | `extract${string}`
      | `assert${string}`
      | 'screenshot'
      | 'pdf'
      | 'download'
      | 'if'
      | 'forEach'
      | 'repeat'
      | 'try'
      | 'call'
      | 'stop';
  }
>;

function sayReading(step: Reading): string {
  switch (step.type) {
    case 'extractAttribute':
      return `read the attribute ${step.attribute} of ${describeSelectors(step.selectors)}${place(step)}`;
    case 'extractHtml':
      return `read the HTML of ${step.selectors === undefined ? 'the page' : describeSelectors(step.selectors)}${place(step)}`;
    case 'extractJson':
      return `read the JSON ${step.selectors === undefined ? `of ${step.response === undefined ? 'a response' : describeUrlTest(step.response)}` : `in ${describeSelectors(step.selectors)}`}${place(step)}`;
    case 'extractRecords':
      return `read ${Object.keys(step.fields).join(', ')} of each ${describeSelectors(step.selectors)}${place(step)}`;
    case 'extractText':
    case 'extractValue':
    case 'extractNumber':
    case 'extractMoney':
    case 'extractDate':
    case 'extractTable':
      return `read the ${step.type.slice('extract'.length).toLowerCase()} of ${describeSelectors(step.selectors)}${place(step)}`;
    case 'screenshot':
      return `take a screenshot${into(' of', step.selectors)}`;
    case 'pdf':
      return 'keep the page as PDF';
    case 'download':
      return step.url === undefined ? `keep the download${into(' of', step.selectors)}` : `download ${step.url}`;
    case 'assertText':
      return `expect ${step.selectors === undefined ? 'the page' : describeSelectors(step.selectors)} to say ${describeTextTest(step.text)}`;
    case 'assertElement':
      return `expect ${describeSelectors(step.selectors)} to be ${step.state ?? 'visible'}`;
    case 'assertCount':
      return `expect ${describeCountTest(step.count)} of ${describeSelectors(step.selectors)}`;
    case 'assertUrl':
      return `expect the address ${describeUrlTest(step.url)}`;
    case 'assertSameItem':
      return `expect ${describeSelectors(step.selectors)} to be that of ${step.value}`;
    case 'if':
      return `if ${describeCondition(step.condition)}`;
    case 'forEach':
      return `for each ${describeSelectors(step.selectors)}, at most ${step.max}${place(step)}`;
    case 'repeat':
      return `repeat until ${describeCondition(step.until)}, at most ${step.max} times${place(step)}`;
    case 'try':
      return 'try';
    case 'call':
      return `call ${step.sequence}`;
    case 'stop':
      return `stop: ${step.outcome}${step.message === undefined ? '' : ` ${quote(step.message)}`}`;
  }
}

function place(step: { readonly field?: string | undefined; readonly variable?: string | undefined }): string {
  const places = [step.field, step.variable && `vars.${step.variable}`].filter((each) => each !== undefined);
  return places.length === 0 ? '' : ` as ${places.join(' and ')}`;
}

function into(preposition: string, selectors: Selectors | undefined): string {
  return selectors === undefined ? '' : `${preposition} ${describeSelectors(selectors)}`;
}

function quote(text: string): string {
  return JSON.stringify(text.length <= 60 ? text : `${text.slice(0, 59)}…`);
}
