import { PROTOTYPE_NAMES } from '../limits.ts';
import { listField, recordsIn, textField } from './read-fields.ts';
import { convertSeleniumCommand, type SeleniumState } from './selenium-commands.ts';
import { readCommands } from './selenium-locator.ts';
import { type ConvertedSteps, type ImportNote, StepWriter } from './step-writer.ts';

/**
 * A project of Selenium IDE. Its first test becomes the steps, the others sequences that `run` calls. Conditions and loops
 * are written in JavaScript there, so they are lost, and so is every script.
 */
export function importSelenium(project: Readonly<Record<string, unknown>>): ConvertedSteps {
  const tests = recordsIn(listField(project, 'tests'));
  const [first, ...others] = tests;
  const names = new Map(
    others.map((test, index) => [textField(test, 'name') ?? '', sequenceName(textField(test, 'name') ?? '', index)]),
  );
  const base = textField(project, 'url') ?? '';
  const main = convertTest(first ?? {}, base, names);
  const used = others.map((test) => ({
    name: names.get(textField(test, 'name') ?? '') ?? '',
    test: convertTest(test, base, names),
  }));
  const all = [main, ...used.map(({ test }) => test)];
  return {
    title: textField(first ?? {}, 'name') ?? textField(project, 'name') ?? null,
    steps: main.steps,
    sequences: Object.fromEntries(
      used.filter(({ test }) => test.steps.length > 0).map(({ name, test }) => [name, test.steps]),
    ),
    viewport: all.find(({ viewport }) => viewport !== undefined)?.viewport,
    stepMs: null,
    converted: all.reduce((sum, { converted }) => sum + converted, 0),
    changed: joinNotes(used, main.changed, ({ changed }) => changed),
    lost: joinNotes(used, main.lost, ({ lost }) => lost),
  };
}

type ConvertedTest = ReturnType<typeof convertTest>;

function convertTest(test: Readonly<Record<string, unknown>>, base: string, names: ReadonlyMap<string, string>) {
  const state: SeleniumState = {
    writer: new StepWriter(),
    base,
    frame: [],
    constants: new Map(),
    variables: new Set(),
    sequences: names,
    viewport: undefined,
  };
  for (const [index, command] of readCommands(listField(test, 'commands')).entries()) {
    state.writer.begin(index + 1, command.name);
    convertSeleniumCommand(state, command);
  }
  return { ...state.writer.end(), viewport: state.viewport };
}

function joinNotes(
  used: readonly { readonly name: string; readonly test: ConvertedTest }[],
  main: readonly ImportNote[],
  pick: (test: ConvertedTest) => readonly ImportNote[],
): readonly ImportNote[] {
  const others = used.flatMap(({ name, test }) =>
    pick(test).map(({ entry, message }) => ({ entry: `${name}: ${entry}`, message })),
  );
  return [...main, ...others];
}

function sequenceName(name: string, index: number): string {
  const plain = name
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^[^A-Za-z_]+/, '')
    .slice(0, 60);
  return plain === '' || PROTOTYPE_NAMES.has(plain) ? `test_${index + 2}` : plain;
}
