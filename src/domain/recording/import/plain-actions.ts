import { isRecord } from '../../is-record.ts';
import { STEP_TYPES, type StepType } from '../step.ts';
import { listField, numberField, textField } from './read-fields.ts';
import { type ConvertedSteps, keepReadable, limitTimeout, StepWriter } from './step-writer.ts';

/**
 * A plain list of actions, for extensions that write their own: `[{"action": "click", "selector": "#search"}]`. Every step
 * can be written as an action with its own fields; the names below are what recorders call the most common ones.
 * Placeholders are kept as they are.
 */
export function importPlainActions(actions: readonly unknown[]): ConvertedSteps {
  const writer = new StepWriter();
  for (const [index, action] of actions.entries()) {
    const name = isRecord(action) ? (textField(action, 'action') ?? textField(action, 'type') ?? '?') : '?';
    writer.begin(index + 1, name);
    if (!isRecord(action)) writer.lose('is not an object');
    else convert(writer, action, name);
  }
  return { title: null, sequences: {}, viewport: undefined, stepMs: null, ...writer.end() };
}

type Fields = Readonly<Record<string, unknown>>;

/** Other names of steps. */
const PLAIN_NAMES: Readonly<Record<string, StepType>> = {
  navigate: 'goto',
  open: 'goto',
  visit: 'goto',
  goback: 'back',
  goforward: 'forward',
  refresh: 'reload',
  dblclick: 'doubleClick',
  doubleclick: 'doubleClick',
  tap: 'click',
  mouseover: 'hover',
  input: 'fill',
  change: 'fill',
  setvalue: 'fill',
  key: 'press',
  keypress: 'press',
  keydown: 'press',
  submit: 'press',
  wait: 'waitForTime',
  sleep: 'waitForTime',
  waitfortimeout: 'waitForTime',
  waitforselector: 'waitForElement',
  waitfornavigation: 'waitForNetworkIdle',
  extract: 'extractText',
  gettext: 'extractText',
  getattribute: 'extractAttribute',
};

/** What recorders add for people, and no step needs. */
const IGNORED: ReadonlySet<string> = new Set([
  ...[
    'action',
    'type',
    'selector',
    'selectors',
    'css',
    'xpath',
    'value',
    'url',
    'text',
    'key',
    'timeout',
    'ms',
    'field',
  ],
  ...['timestamp', 'time', 'id', 'tagName', 'tag', 'description', 'comment', 'label', 'title', 'innerText', 'index'],
]);

function convert(writer: StepWriter, action: Fields, name: string) {
  const type = (STEP_TYPES as readonly string[]).includes(name) ? (name as StepType) : PLAIN_NAMES[name.toLowerCase()];
  if (type === undefined) return writer.lose('there is no such action');
  const selectors = readSelectors(writer, action);
  const value = readValue(action);
  const own = Object.fromEntries(Object.entries(action).filter(([field]) => !IGNORED.has(field)));
  // An extraction is often named after its field.
  if (type === 'extractText' && !Object.hasOwn(action, 'field')) delete own['name'];
  const place = {
    ...own,
    ...(selectors === null ? {} : { selectors }),
    timeoutMs: own['timeoutMs'] ?? limitTimeout(writer, numberField(action, 'timeout')),
  };
  writer.write({
    ...fieldsOf(writer, type, name, action, value, selectors !== null),
    ...(type === 'waitForTime' && selectors === null ? {} : place),
  });
}

/** What the step's own field is called, from the names that are used for it. */
function fieldsOf(
  writer: StepWriter,
  type: StepType,
  name: string,
  action: Fields,
  value: string | undefined,
  hasElement: boolean,
): Fields {
  switch (type) {
    case 'goto':
    case 'newTab':
    case 'download':
      return { type, url: textField(action, 'url') ?? value };
    case 'waitForUrl':
    case 'assertUrl':
    case 'waitForResponse':
      return { type, url: action['url'] ?? value };
    case 'fill':
    case 'assertSameItem':
      return { type, value: value ?? textField(action, 'text') ?? '' };
    case 'type':
    case 'waitForText':
    case 'assertText':
      return { type, text: action['text'] ?? value ?? '' };
    case 'select':
      return Object.hasOwn(action, 'label')
        ? { type, label: action['label'] }
        : Object.hasOwn(action, 'index')
          ? { type, index: action['index'] }
          : { type, value };
    case 'press':
      if (name === 'submit') writer.change('a form is submitted by Enter in the control');
      return {
        type,
        key: textField(action, 'key') ?? (name === 'submit' ? 'Enter' : (value ?? '')),
        ...(name === 'submit' ? { navigation: {} } : {}),
      };
    case 'waitForTime': {
      if (hasElement) return { type: 'waitForElement' };
      const ms = numberField(action, 'ms') ?? numberField(action, 'timeout') ?? Number(value ?? 1_000);
      return { type, ms: Math.min(Math.max(Math.round(ms) || 0, 0), 60_000) };
    }
    case 'extractText': {
      const attribute = textField(action, 'attribute');
      const field = textField(action, 'field') ?? textField(action, 'name');
      return { type: attribute === undefined ? type : 'extractAttribute', field };
    }
    default:
      return {
        type,
        ...(Object.hasOwn(action, 'field') ? { field: action['field'] } : {}),
        ...(Object.hasOwn(action, 'text') ? { text: action['text'] } : {}),
      };
  }
}

function readValue(action: Fields): string | undefined {
  const { value } = action;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : textField(action, 'value');
}

function readSelectors(writer: StepWriter, action: Fields) {
  const { selector, css, xpath } = action;
  const given: readonly unknown[] = [
    ...listField(action, 'selectors'),
    ...(Array.isArray(selector) ? selector : [selector]),
    css,
    typeof xpath === 'string' ? `xpath/${xpath.replace(/^xpath=/, '')}` : undefined,
  ];
  const alternatives = given.flatMap(readAlternative);
  return alternatives.length === 0 ? null : keepReadable(writer, alternatives);
}

function readAlternative(given: unknown): readonly (readonly string[])[] {
  if (typeof given === 'string') return given === '' ? [] : [[asSelector(given)]];
  return Array.isArray(given) ? [given.map(String)] : [];
}

function asSelector(text: string): string {
  return /^\(?\/\//.test(text) ? `xpath/${text}` : text;
}
