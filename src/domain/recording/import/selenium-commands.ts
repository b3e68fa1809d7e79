import {
  readSeleniumKeys,
  readSeleniumLocator,
  readSeleniumTargets,
  type SeleniumCommand,
} from './selenium-locator.ts';
import { asLiteral, type ConvertedSteps, keepReadable, type StepWriter } from './step-writer.ts';

/** What the commands of a test have established so far. */
export interface SeleniumState {
  readonly writer: StepWriter;
  /** Address that `open` is relative to. */
  readonly base: string;
  /** Path to the frame that is selected. */
  frame: (number | string)[];
  /** Values that `store` gave a name. */
  readonly constants: Map<string, string>;
  /** Names of values that were read off a page. */
  readonly variables: Set<string>;
  /** Names of the other tests here, by their names there. */
  readonly sequences: ReadonlyMap<string, string>;
  viewport: ConvertedSteps['viewport'];
}

type Convert = (state: SeleniumState, command: SeleniumCommand) => void;

export function convertSeleniumCommand(state: SeleniumState, command: SeleniumCommand) {
  if (command.name.startsWith('//')) return state.writer.change('is commented out, and left out');
  const convert = Object.hasOwn(COMMANDS, command.name) ? COMMANDS[command.name] : undefined;
  if (convert === undefined) return state.writer.lose('there is no such step');
  convert(state, command);
}

/** `clickAt` has the place in the element as its value: `10,5`. */
function click(type: 'click' | 'doubleClick'): Convert {
  return (state, command) =>
    onElement(state, command, (at) => {
      const [, x, y] = /^\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*$/.exec(command.value) ?? [];
      const offset = x === undefined || y === undefined ? undefined : { x: Number(x), y: Number(y) };
      state.writer.write({ type, ...at, offset });
    });
}
const ignore =
  (reason: string): Convert =>
  ({ writer }) =>
    writer.change(reason);
const lose =
  (reason: string): Convert =>
  ({ writer }) =>
    writer.lose(reason);
const mouse = ignore('a mouse that moves over the page is left out');
const script = lose('scripts are not carried out');
const control = lose('conditions and loops are scripts; write an if, repeat or forEach step instead');

function waitFor(wanted: 'visible' | 'hidden' | 'attached'): Convert {
  return (state, command) =>
    onElement(state, command, (at) => {
      const timeoutMs = /^\d{1,6}$/.test(command.value) ? Math.min(Number(command.value), 300_000) : undefined;
      state.writer.write({
        type: 'waitForElement',
        ...at,
        state: wanted === 'visible' ? undefined : wanted,
        timeoutMs,
      });
    });
}

function assertState(wanted: 'visible' | 'hidden' | 'attached'): Convert {
  return (state, command) =>
    onElement(state, command, (at) => state.writer.write({ type: 'assertElement', ...at, state: wanted }));
}

function seenInstead(convert: Convert): Convert {
  return (state, command) => {
    state.writer.change('that it can be seen is enough: whether it can be edited is not tested');
    convert(state, command);
  };
}

const assertText: Convert = (state, command) =>
  onElement(state, command, (at) =>
    state.writer.write({ type: 'assertText', ...at, text: { equals: fillIn(state, command.value) } }),
  );

function assertCondition(kind: 'value' | 'notText' | 'checked' | 'unchecked'): Convert {
  return (state, command) =>
    onElement(state, command, ({ selectors, ...place }) => {
      const expected = { equals: fillIn(state, command.value) };
      if (kind === 'checked' || kind === 'unchecked') {
        const css = selectors.filter((each) => typeof each === 'string' && !/^\w+\//.test(each));
        if (css.length === 0)
          return state.writer.lose('only a control that is found by CSS can be tested for its tick');
        const pseudo = kind === 'checked' ? ':checked' : ':not(:checked)';
        return state.writer.write({
          type: 'assertElement',
          selectors: css.map((each) => `${each}${pseudo}`),
          ...place,
          state: 'attached',
        });
      }
      const holds =
        kind === 'value'
          ? { type: 'value', selectors, ...place, value: expected }
          : { type: 'text', selectors, ...place, text: expected };
      const condition = kind === 'value' ? { type: 'not', condition: holds } : holds;
      state.writer.write({ type: 'if', condition, then: [{ type: 'stop', outcome: 'structure_changed' }] });
    });
}

function store(type: 'extractText' | 'extractValue' | 'extractAttribute'): Convert {
  return (state, command) => {
    const variable = command.value.replace(/[^A-Za-z0-9_-]+/g, '_');
    const [, element = command.target, attribute] =
      (type === 'extractAttribute' && /^(.*)@([\w:-]+)$/s.exec(command.target)) || [];
    onElement(
      state,
      { ...command, target: element, targets: type === 'extractAttribute' ? [] : command.targets },
      (at) => {
        state.writer.write({ type, ...at, variable, ...(attribute === undefined ? {} : { attribute }) });
        state.variables.add(variable);
      },
    );
  };
}

/** A dialog is answered after it has opened there, and before it opens here. */
function answerLast(action: 'accept' | 'dismiss' | 'answer'): Convert {
  return ({ writer, ...state }, { target, value }) =>
    writer.writeBeforeLast({
      type: 'dialog',
      action,
      text: action === 'answer' ? fillIn({ ...state, writer }, value || target) : undefined,
    });
}

const seenDialog: Convert = ({ writer }, { target }) => {
  writer.change(
    `the dialog is accepted, and its text${target === '' ? '' : ` (${target.slice(0, 60)})`} is not compared`,
  );
  writer.writeBeforeLast({ type: 'dialog', action: 'accept' });
};

const COMMANDS: Readonly<Record<string, Convert>> = {
  open: (state, { target }) => {
    const url = fillIn(state, target);
    state.frame = [];
    state.writer.write({
      type: 'goto',
      url: url.includes('{{') ? url : (URL.parse(url, state.base || undefined)?.href ?? url),
    });
  },
  click: click('click'),
  clickAt: click('click'),
  doubleClick: click('doubleClick'),
  doubleClickAt: click('doubleClick'),
  type: (state, command) =>
    onElement(state, command, (at) => {
      if (/\$\{|^[A-Za-z]:\\|^\/(?:home|Users)\//.test(command.value) && /file|upload/i.test(command.target)) {
        return state.writer.lose('files of the machine cannot be uploaded; use an upload step with inline files');
      }
      state.writer.write({ type: 'fill', ...at, value: fillIn(state, command.value) });
    }),
  sendKeys: (state, command) =>
    onElement(state, command, (at) => {
      const parts = readSeleniumKeys(command.value);
      if (parts === null) return state.writer.lose(`${command.value.slice(0, 60)} has a key that is not known`);
      for (const part of parts) {
        if ('key' in part) state.writer.write({ type: 'press', ...at, key: part.key });
        else state.writer.write({ type: 'type', ...at, text: fillIn(state, part.text) });
      }
    }),
  select: (state, command) =>
    onElement(state, command, (at) => {
      const [, kind = 'label', value = command.value] = /^(label|value|index|id)=(.*)$/s.exec(command.value) ?? [];
      const text = fillIn(state, value);
      if (kind === 'index' && /^\d{1,4}$/.test(value))
        state.writer.write({ type: 'select', ...at, index: Number(value) });
      else if (kind === 'id') state.writer.lose('an option is chosen by its label, value or index, not by its id');
      else state.writer.write({ type: 'select', ...at, [kind === 'value' ? 'value' : 'label']: text });
    }),
  addSelection: (state, command) => COMMANDS['select']?.(state, command),
  check: (state, command) => onElement(state, command, (at) => state.writer.write({ type: 'check', ...at })),
  uncheck: (state, command) => onElement(state, command, (at) => state.writer.write({ type: 'uncheck', ...at })),
  submit: (state, command) =>
    onElement(state, command, (at) => {
      state.writer.change('a form is submitted by Enter in its first control');
      const controls = at.selectors.map((each) =>
        typeof each === 'string' && !/^\w+\//.test(each) ? `${each} input` : each,
      );
      state.writer.write({ type: 'press', ...at, selectors: controls, key: 'Enter', navigation: {} });
    }),
  mouseOver: (state, command) => onElement(state, command, (at) => state.writer.write({ type: 'hover', ...at })),
  mouseOut: mouse,
  mouseDown: mouse,
  mouseUp: mouse,
  mouseMove: mouse,
  mouseDownAt: mouse,
  mouseMoveAt: mouse,
  mouseUpAt: mouse,
  dragAndDropToObject: (state, command) =>
    onElement(state, command, (at) => {
      const to = readSeleniumLocator(command.value);
      if (to === null) return state.writer.lose(`the element ${command.value.slice(0, 60)} cannot be found`);
      state.writer.write({ type: 'drag', ...at, to: [to] });
    }),
  setWindowSize: (state, { target }) => {
    const [, width, height] = /^(\d{3,4})x(\d{3,4})$/.exec(target) ?? [];
    if (width === undefined || height === undefined) return state.writer.lose('is not a size');
    state.viewport = { width: Math.min(Number(width), 4_000), height: Math.min(Number(height), 4_000) };
    state.writer.accept();
  },
  selectFrame: (state, { target }) => {
    const [, index] = /^index=(\d+)$/.exec(target) ?? [];
    const locator = readSeleniumLocator(target);
    if (target === 'relative=parent') state.frame = state.frame.slice(0, -1);
    else if (target === 'relative=top') state.frame = [];
    else if (index !== undefined) state.frame = [...state.frame, Number(index)];
    else if (locator !== null) state.frame = [...state.frame, locator];
    else return state.writer.lose(`the frame ${target.slice(0, 60)} cannot be found`);
    state.writer.accept();
  },
  storeWindowHandle: ({ writer }) => writer.accept(),
  selectWindow: (state, { target }) => {
    state.frame = [];
    const isFirst = /^handle=\$\{root\}$|^win_ser_local$/.test(target);
    state.writer.write({ type: 'switchTab', to: isFirst ? 'first' : 'latest' });
  },
  close: ({ writer }) => writer.write({ type: 'closeTab' }),
  pause: ({ writer }, { target, value }) => {
    const ms = Number(target || value);
    if (!Number.isFinite(ms) || ms < 0) return writer.lose('is not a time');
    if (ms > 60_000) writer.change('a pause is at most 60 seconds');
    writer.write({ type: 'waitForTime', ms: Math.min(Math.round(ms), 60_000) });
  },
  waitForElementPresent: waitFor('attached'),
  waitForElementVisible: waitFor('visible'),
  waitForElementEditable: seenInstead(waitFor('visible')),
  waitForElementNotPresent: waitFor('hidden'),
  waitForElementNotVisible: waitFor('hidden'),
  waitForText: (state, command) =>
    onElement(state, command, (at) =>
      state.writer.write({ type: 'waitForElement', ...at, text: { equals: fillIn(state, command.value) } }),
    ),
  assertText,
  verifyText: assertText,
  assertNotText: assertCondition('notText'),
  verifyNotText: assertCondition('notText'),
  assertValue: assertCondition('value'),
  verifyValue: assertCondition('value'),
  assertChecked: assertCondition('checked'),
  verifyChecked: assertCondition('checked'),
  assertNotChecked: assertCondition('unchecked'),
  verifyNotChecked: assertCondition('unchecked'),
  assertElementPresent: assertState('attached'),
  verifyElementPresent: assertState('attached'),
  assertElementNotPresent: assertState('hidden'),
  verifyElementNotPresent: assertState('hidden'),
  assertEditable: seenInstead(assertState('visible')),
  verifyEditable: seenInstead(assertState('visible')),
  assertTitle: lose('the title of the page is not compared'),
  verifyTitle: lose('the title of the page is not compared'),
  storeTitle: lose('the title of the page is not kept'),
  assertAlert: seenDialog,
  assertConfirmation: seenDialog,
  assertPrompt: seenDialog,
  chooseOkOnNextConfirmation: ({ writer }) => writer.write({ type: 'dialog', action: 'accept' }),
  chooseCancelOnNextConfirmation: ({ writer }) => writer.write({ type: 'dialog', action: 'dismiss' }),
  chooseCancelOnNextPrompt: ({ writer }) => writer.write({ type: 'dialog', action: 'dismiss' }),
  answerOnNextPrompt: (state, { target }) =>
    state.writer.write({ type: 'dialog', action: 'answer', text: fillIn(state, target) }),
  webdriverChooseOkOnVisibleConfirmation: answerLast('accept'),
  webdriverChooseCancelOnVisibleConfirmation: answerLast('dismiss'),
  webdriverChooseCancelOnVisiblePrompt: answerLast('dismiss'),
  webdriverAnswerOnVisiblePrompt: answerLast('answer'),
  store: ({ writer, constants }, { target, value }) => {
    constants.set(value, target);
    writer.accept();
  },
  storeText: store('extractText'),
  storeValue: store('extractValue'),
  storeAttribute: store('extractAttribute'),
  run: ({ writer, sequences }, { target }) => {
    const sequence = sequences.get(target);
    if (sequence === undefined) return writer.lose(`there is no test ${target.slice(0, 60)}`);
    writer.write({ type: 'call', sequence });
  },
  echo: ignore('a message for the log is left out'),
  setSpeed: ignore('the speed is left out'),
  debugger: ignore('a breakpoint is left out'),
  executeScript: script,
  executeAsyncScript: script,
  runScript: script,
  if: control,
  elseIf: control,
  else: control,
  end: control,
  while: control,
  times: control,
  do: control,
  repeatIf: control,
  forEach: control,
};

function onElement(
  { writer, frame }: SeleniumState,
  command: SeleniumCommand,
  write: (at: { readonly selectors: (string | string[])[] }) => void,
) {
  const selectors = keepReadable(writer, readSeleniumTargets(command.target, command.targets));
  if (selectors === null) return writer.lose(`the element ${command.target.slice(0, 60)} cannot be found`);
  write({ selectors, ...(frame.length > 0 ? { frame: [...frame] } : {}) });
}

/** `${name}` is a constant, a value that was read, or else a value of the input. */
function fillIn({ constants, variables }: SeleniumState, text: string): string {
  return asLiteral(text).replace(/\$\{([A-Za-z_]\w*)\}/g, (_, name: string) => {
    const constant = constants.get(name);
    if (constant !== undefined) return asLiteral(constant);
    return variables.has(name) ? `{{vars.${name}}}` : `{{input.${name}}}`;
  });
}
