import { isRecord } from '../../is-record.ts';
import { readLocator } from './playwright-locator.ts';
import { listField, numberField, recordsIn, textField } from './read-fields.ts';
import { asLiteral, type ConvertedSteps, StepWriter } from './step-writer.ts';

/** The JSON Lines of `playwright codegen --target=jsonl`: a line of options, then one line for each action. */
export function importPlaywright(lines: readonly unknown[]): ConvertedSteps {
  const writer = new StepWriter();
  const pages: Pages = { names: [], current: null, awaited: null };
  let viewport: ConvertedSteps['viewport'];
  for (const [index, line] of lines.entries()) {
    const name = isRecord(line) ? textField(line, 'name') : undefined;
    writer.begin(index + 1, name ?? 'options');
    if (!isRecord(line)) writer.lose('is not an object');
    else if (name === undefined) {
      viewport = readViewport(line);
      writer.accept();
    } else convert(writer, pages, line, name);
  }
  return { title: null, sequences: {}, viewport, stepMs: null, ...writer.end() };
}

/** Tabs, in the order in which they were opened. */
interface Pages {
  readonly names: string[];
  current: string | null;
  /** Of a pop-up that an action has opened. */
  awaited: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

function convert(writer: StepWriter, pages: Pages, line: Fields, name: string) {
  const page = textField(line, 'pageAlias') ?? textField(line, 'pageGuid') ?? 'page';
  const signals = recordsIn(listField(line, 'signals'));
  if (name === 'openPage') return openPage(writer, pages, line, page);
  followPage(writer, pages, page);
  for (const { name: signal } of signals) {
    if (signal !== 'dialog') continue;
    writer.change('the dialog is dismissed, as Playwright does');
    writer.write({ type: 'dialog', action: 'dismiss' });
  }
  convertAction(
    writer,
    pages,
    line,
    name,
    signals.some((signal) => signal['name'] === 'navigation'),
  );
  for (const signal of signals) {
    if (signal['name'] === 'popup')
      pages.awaited = textField(signal, 'popupAlias') ?? textField(signal, 'popupPageGuid') ?? null;
    if (signal['name'] === 'download') writer.write({ type: 'download' });
  }
}

function convertAction(writer: StepWriter, pages: Pages, line: Fields, name: string, navigates: boolean) {
  const navigation = navigates ? {} : undefined;
  const text = asLiteral(textField(line, 'text') ?? textField(line, 'value') ?? '');
  switch (name) {
    case 'navigate':
      return writer.write({ type: 'goto', url: asLiteral(textField(line, 'url') ?? '') });
    case 'closePage':
      pages.current = pages.names[0] ?? null;
      if (pages.names.length <= 1) return writer.change('the last page is closed anyway');
      pages.names.pop();
      return writer.write({ type: 'closeTab' });
    case 'click':
      return withTarget(writer, line, (target) => {
        const clicks = numberField(line, 'clickCount') ?? 1;
        if (clicks > 2) writer.change(`${clicks} clicks are a double click`);
        const position = isRecord(line['position']) ? line['position'] : {};
        const [x, y] = [numberField(position, 'x'), numberField(position, 'y')];
        const offset = x === undefined || y === undefined ? undefined : { x, y };
        const button = textField(line, 'button') ?? 'left';
        const held = readModifiers(line);
        if (clicks > 1) {
          if (button !== 'left') writer.lose(`a double click is one of the left button, not of the ${button} one`);
          if (held.length > 0) writer.lose(`a double click is made without ${held.join(' and ')}`);
          return writer.write({ type: 'doubleClick', ...target, offset, navigation });
        }
        const modifiers = held.length > 0 ? held : undefined;
        writer.write({
          type: 'click',
          ...target,
          offset,
          modifiers,
          navigation,
          button: button === 'left' ? undefined : button,
        });
      });
    case 'hover':
    case 'check':
    case 'uncheck':
      return withTarget(writer, line, (target) => writer.write({ type: name, ...target, navigation }));
    case 'fill':
      return withTarget(writer, line, (target) => writer.write({ type: 'fill', ...target, value: text, navigation }));
    case 'press':
      return withTarget(writer, line, (target) =>
        writer.write({
          type: 'press',
          ...target,
          navigation,
          key: asLiteral([...readModifiers(line), textField(line, 'key') ?? ''].join('+')),
        }),
      );
    case 'select': {
      const values = listField(line, 'options')
        .filter((each) => typeof each === 'string')
        .map(asLiteral);
      return withTarget(writer, line, (target) =>
        writer.write({ type: 'select', ...target, value: values.length === 1 ? values[0] : values, navigation }),
      );
    }
    case 'setInputFiles':
      return writer.lose(
        `files of the machine (${listField(line, 'files').join(', ').slice(0, 100)}) cannot be uploaded; use an upload step with inline files`,
      );
    case 'assertText':
      return withTarget(writer, line, (target) =>
        writer.write({ type: 'assertText', ...target, text: line['substring'] === false ? { equals: text } : text }),
      );
    case 'assertVisible':
      return withTarget(writer, line, (target) => writer.write({ type: 'assertElement', ...target }));
    case 'assertValue':
      return withTarget(writer, line, (target) => {
        writer.change('the value is waited for by a condition');
        const condition = { type: 'value', ...target, value: { equals: text } };
        writer.write({
          type: 'if',
          condition: { type: 'not', condition },
          then: [{ type: 'stop', outcome: 'structure_changed' }],
        });
      });
    case 'assertChecked':
      return withTarget(writer, line, ({ selectors: [first = '', ...rest], ...place }) => {
        if (first.includes('/')) return writer.lose('only a control that is found by CSS can be tested for its tick');
        const pseudo = line['checked'] === false ? ':not(:checked)' : ':checked';
        writer.write({ type: 'assertElement', selectors: [`${first}${pseudo}`, ...rest], ...place, state: 'attached' });
      });
    case 'assertSnapshot':
      return writer.lose('the tree of the page is not compared');
    default:
      return writer.lose('there is no such action');
  }
}

function openPage(writer: StepWriter, pages: Pages, line: Fields, page: string) {
  const url = textField(line, 'url') ?? '';
  const isBlank = url === '' || url === 'about:blank' || url.startsWith('chrome:');
  const isPopup = pages.awaited === page;
  pages.awaited = isPopup ? null : pages.awaited;
  if (!pages.names.includes(page)) pages.names.push(page);
  if (pages.names.length === 1) {
    pages.current = page;
    return isBlank ? writer.accept() : writer.write({ type: 'goto', url: asLiteral(url) });
  }
  pages.current = page;
  writer.write(
    isPopup ? { type: 'switchTab', to: 'latest' } : { type: 'newTab', url: isBlank ? undefined : asLiteral(url) },
  );
}

function followPage(writer: StepWriter, pages: Pages, page: string) {
  if (!pages.names.includes(page)) pages.names.push(page);
  if (pages.current !== null && pages.current !== page) {
    const isAwaited = pages.awaited === page;
    writer.write({ type: 'switchTab', to: isAwaited ? 'latest' : pages.names.indexOf(page) });
    if (isAwaited) pages.awaited = null;
  }
  pages.current = page;
}

function withTarget(
  writer: StepWriter,
  line: Fields,
  write: (target: { readonly selectors: readonly string[] }) => void,
) {
  const target = readLocator(writer, line['locator']);
  if (target === null) return writer.lose(`has no locator that can be used: ${textField(line, 'selector') ?? ''}`);
  write(target);
}

function readModifiers(line: Fields): readonly string[] {
  const bits = numberField(line, 'modifiers') ?? 0;
  return ['Alt', 'Control', 'Meta', 'Shift'].filter((_, bit) => (bits & (1 << bit)) !== 0);
}

function readViewport(options: Fields): ConvertedSteps['viewport'] {
  const context = isRecord(options['contextOptions']) ? options['contextOptions'] : {};
  const viewport = isRecord(context['viewport']) ? context['viewport'] : {};
  const [width, height] = [numberField(viewport, 'width'), numberField(viewport, 'height')];
  return width === undefined || height === undefined ? undefined : { width, height };
}
