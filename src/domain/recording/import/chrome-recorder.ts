import { isRecord } from '../../is-record.ts';
import { LIMITS } from '../limits.ts';
import { listField, numberField, textField } from './read-fields.ts';
import { asLiteral, type ConvertedSteps, keepReadable, limitTimeout, StepWriter } from './step-writer.ts';

/**
 * The JSON that the Recorder of Chrome DevTools exports. Real exports leave out offsets, have any timeouts and steps of
 * extensions; whatever cannot be kept is named. Keys that are held down, and the pop-up that a step is for, are states
 * of the recording there and parts of each step here.
 */
export function importChromeRecorder(flow: Readonly<Record<string, unknown>>): ConvertedSteps {
  const state: State = { writer: new StepWriter(), target: 'main', held: [], used: new Set(), viewport: undefined };
  const steps = listField(flow, 'steps');
  for (const [index, step] of steps.entries()) {
    const type = isRecord(step) ? (textField(step, 'type') ?? '?') : '?';
    state.writer.begin(index + 1, type);
    if (!isRecord(step)) state.writer.lose('is not an object');
    else convert(state, step, type, index === steps.length - 1);
  }
  const timeout = numberField(flow, 'timeout');
  const stepMs = timeout === undefined ? null : Math.min(Math.max(Math.round(timeout), 100), LIMITS.timeoutMs);
  const { changed, ...written } = state.writer.end();
  const isOther = stepMs !== null && stepMs !== timeout;
  const note = { entry: 'timeout', message: `the timeout of ${timeout} ms is ${stepMs} ms here` };
  return {
    title: textField(flow, 'title') ?? null,
    sequences: {},
    viewport: state.viewport,
    stepMs,
    ...written,
    changed: isOther ? [note, ...changed] : changed,
  };
}

interface State {
  readonly writer: StepWriter;
  target: string;
  /** Modifier keys that are down. */
  held: Modifier[];
  /** Those of them that something was done with. */
  readonly used: Set<string>;
  viewport: ConvertedSteps['viewport'];
}

type Fields = Readonly<Record<string, unknown>>;
const MODIFIERS = ['Alt', 'Control', 'Meta', 'Shift'] as const;
type Modifier = (typeof MODIFIERS)[number];

/** Buttons that are steps of their own elsewhere. */
const BUTTONS: Readonly<Record<string, string>> = { primary: 'left', auxiliary: 'middle', secondary: 'right' };

function convert(state: State, step: Fields, type: string, isLast: boolean) {
  const { writer } = state;
  if (type !== 'setViewport' && type !== 'emulateNetworkConditions') followTarget(state, step);
  switch (type) {
    case 'navigate':
      return writer.write({ type: 'goto', url: asLiteral(textField(step, 'url') ?? ''), ...common(writer, step) });
    case 'click':
    case 'doubleClick':
      return convertClick(state, step, type);
    case 'hover':
      return withTarget(writer, step, (target) => writer.write({ type: 'hover', ...target }));
    case 'change': {
      const value = asLiteral(textField(step, 'value') ?? '');
      return withTarget(writer, step, (target) =>
        writer.write({ type: isSelect(target.selectors) ? 'select' : 'fill', ...target, value }),
      );
    }
    case 'keyDown':
    case 'keyUp':
      return convertKey(state, step, type);
    case 'scroll': {
      const [x, y] = [numberField(step, 'x'), numberField(step, 'y')];
      if (listField(step, 'selectors').length === 0)
        return writer.write({ type: 'scroll', x, y, ...common(writer, step) });
      return withTarget(writer, step, (target) => writer.write({ type: 'scroll', ...target, x, y }));
    }
    case 'setViewport':
      return convertViewport(state, step);
    case 'close':
      if (isLast && state.target === 'main') return writer.change('the last page is closed anyway');
      state.target = 'main';
      return writer.write({ type: 'closeTab' });
    case 'waitForElement':
      return convertWait(writer, step);
    case 'waitForExpression':
      writer.change('an expression is evaluated only where the operator allows scripts');
      return writer.write({
        type: 'waitForExpression',
        expression: asLiteral(textField(step, 'expression') ?? ''),
        ...common(writer, step),
      });
    case 'emulateNetworkConditions':
      return writer.lose('the network is not slowed down');
    case 'customStep':
      return writer.lose(`the step "${textField(step, 'name') ?? ''}" of an extension is not known`);
    default:
      return writer.lose('there is no such step');
  }
}

/** A step of a pop-up says so; here, the tab is changed before. */
function followTarget(state: State, step: Fields) {
  const target = textField(step, 'target') ?? 'main';
  if (target === state.target) return;
  state.writer.write({ type: 'switchTab', to: target === 'main' ? 'first' : { url: asLiteral(target) } });
  state.target = target;
}

function convertClick(state: State, step: Fields, type: 'click' | 'doubleClick') {
  const { writer } = state;
  const button = textField(step, 'button') ?? 'primary';
  if (button === 'back' || button === 'forward') {
    writer.change(`the ${button} button of the mouse goes ${button}`);
    return writer.write({ type: button, ...common(writer, step) });
  }
  if (step['deviceType'] === 'touch' || step['deviceType'] === 'pen')
    writer.change(`a ${step['deviceType']} is a mouse here`);
  const [x, y, holdMs] = [numberField(step, 'offsetX'), numberField(step, 'offsetY'), numberField(step, 'duration')];
  for (const key of state.held) state.used.add(key);
  if (!Object.hasOwn(BUTTONS, button)) writer.lose(`there is no button "${button.slice(0, 60)}": it is the left one`);
  else if (type === 'doubleClick') {
    if (button !== 'primary')
      writer.lose(`a double click is one of the left button, not of the ${BUTTONS[button]} one`);
    if (state.held.length > 0) writer.lose(`a double click is made without ${state.held.join(' and ')}`);
    if (holdMs !== undefined) writer.change('the button is not held down in a double click');
  }
  withTarget(writer, step, (target) =>
    writer.write({
      type,
      ...target,
      ...(x === undefined || y === undefined ? {} : { offset: { x, y } }),
      ...(type === 'click'
        ? {
            button: button === 'primary' || !Object.hasOwn(BUTTONS, button) ? undefined : BUTTONS[button],
            modifiers: state.held.length > 0 ? [...state.held] : undefined,
            holdMs: holdMs === undefined ? undefined : Math.min(Math.max(Math.round(holdMs), 0), 10_000),
          }
        : {}),
    }),
  );
}

/** A key that goes down and up is one press; modifiers in between are part of what they are held for. */
function convertKey(state: State, step: Fields, type: 'keyDown' | 'keyUp') {
  const { writer, used } = state;
  const key = textField(step, 'key') ?? '';
  if (!isModifier(key)) {
    if (type === 'keyUp') return endPress(writer, step, key);
    for (const held of state.held) used.add(held);
    return writer.write({
      type: 'press',
      key: asLiteral([...state.held, key === ' ' ? 'Space' : key].join('+')),
      ...common(writer, step),
    });
  }
  if (type === 'keyDown') {
    if (!state.held.includes(key)) state.held.push(key);
    used.delete(key);
    return writer.accept();
  }
  if (!state.held.includes(key)) return writer.change(`${key} was not down`);
  state.held = state.held.filter((each) => each !== key);
  if (used.has(key)) writer.accept();
  else writer.write({ type: 'press', key, ...common(writer, step) });
}

/** The page that comes may be recorded with either half of the press. */
function endPress(writer: StepWriter, step: Fields, key: string) {
  const { navigation } = common(writer, step);
  const { last } = writer;
  const isOfPress = last?.type === 'press' && last.key.split('+').at(-1) === (key === ' ' ? 'Space' : asLiteral(key));
  if (navigation !== undefined && isOfPress) return writer.replaceLast({ ...last, navigation });
  if (navigation !== undefined)
    writer.lose('a page that comes after a key is not waited for: the key was not pressed before');
  writer.accept();
}

function isModifier(key: string): key is Modifier {
  return (MODIFIERS as readonly string[]).includes(key);
}

function convertViewport(state: State, step: Fields) {
  const [width, height] = [numberField(step, 'width'), numberField(step, 'height')];
  if (width === undefined || height === undefined) return state.writer.lose('has no width or height');
  const size = (value: number) => Math.min(Math.max(Math.round(value), 200), 4_000);
  if (state.viewport !== undefined) state.writer.change('the window has one size: the one that was set last');
  if (step['isMobile'] === true || step['hasTouch'] === true) state.writer.change('the window is not that of a phone');
  const scale = numberField(step, 'deviceScaleFactor') ?? 1;
  if (scale !== 0 && scale !== 1) state.writer.change('a point of the window is one pixel');
  if (size(width) !== width || size(height) !== height)
    state.writer.change('the window is at least 200 and at most 4000 wide and high');
  state.viewport = { width: size(width), height: size(height) };
  state.writer.accept();
}

function convertWait(writer: StepWriter, step: Fields) {
  const count = numberField(step, 'count');
  const operator = textField(step, 'operator') ?? '>=';
  for (const field of ['properties', 'attributes'] as const) {
    if (isRecord(step[field]) && Object.keys(step[field]).length > 0)
      writer.lose(`${field} of the element are not waited for`);
  }
  const isGone = step['visible'] === false || (count === 0 && operator !== '>=');
  withTarget(writer, step, (target) =>
    writer.write({
      type: 'waitForElement',
      ...target,
      state: isGone ? 'hidden' : step['visible'] === true || count === undefined ? undefined : 'attached',
      count:
        count === undefined || isGone
          ? undefined
          : operator === '=='
            ? count
            : operator === '<='
              ? { atMost: count }
              : { atLeast: count },
    }),
  );
}

function withTarget(
  writer: StepWriter,
  step: Fields,
  write: (target: { readonly selectors: (string | string[])[] }) => void,
) {
  const selectors = keepReadable(writer, listField(step, 'selectors').flatMap(readAlternative));
  if (selectors === null) return writer.lose('has no selector that can be used');
  const frame = listField(step, 'frame').filter((each) => typeof each === 'number');
  write({ selectors, ...(frame.length > 0 ? { frame } : {}), ...common(writer, step) });
}

function readAlternative(given: unknown): readonly (readonly string[])[] {
  const parts = typeof given === 'string' ? [given] : Array.isArray(given) ? given : [];
  const texts = parts.filter((part): part is string => typeof part === 'string');
  return texts.length === 0 ? [] : [texts.map(asLiteral)];
}

/** Timeout and asserted navigation. */
function common(writer: StepWriter, step: Fields): Record<string, unknown> {
  const navigations = listField(step, 'assertedEvents').filter(
    (event) => isRecord(event) && event['type'] === 'navigation',
  );
  const [first] = navigations;
  const isGoto = step['type'] === 'navigate';
  if (isRecord(first) && !isGoto && (textField(first, 'url') || textField(first, 'title'))) {
    writer.change('a page must come, but its address and title need not be those of the recording');
  }
  return {
    timeoutMs: limitTimeout(writer, numberField(step, 'timeout')),
    navigation: navigations.length > 0 && !isGoto ? {} : undefined,
  };
}

/** The export does not say what was changed; selectors that end in a select do. */
function isSelect(selectors: readonly (string | readonly string[])[]): boolean {
  return selectors.some((each) =>
    /(?:^|[\s>/])select(?:$|[.#:[][^\s>/]*$)/.test(typeof each === 'string' ? each : (each.at(-1) ?? '')),
  );
}
