import type { Element } from 'domhandler';
import type { StepOf } from '../../domain/recording/step.ts';
import type { WholePage } from '../extract/whole-page.ts';
import { fail, ScrapeFailure } from '../scrape-failure.ts';
import { NoMatch, type Sight } from './engine.ts';
import { findElements } from './page/find-elements.ts';
import { type ReadOptions, readElement, readRecord, readTableRecords } from './read-element.ts';
import type { StepScope } from './step-scope.ts';
import { type Aim, type Wanted, wantedBy } from './wanted.ts';

/** Steps that read a value from the page. */
export type ReadingStep = StepOf<
  | 'extractText'
  | 'extractAttribute'
  | 'extractValue'
  | 'extractHtml'
  | 'extractNumber'
  | 'extractMoney'
  | 'extractDate'
  | 'extractTable'
  | 'extractRecords'
  | 'extractJson'
>;

export interface ReadValue {
  /** Null only for a step that is optional. */
  readonly value: unknown;
  /** Which alternative matched; null if the step has none, or it is optional and none did. */
  readonly alternative: number | null;
  /** What it was read from. */
  readonly page: WholePage | null;
}

/** Reads what a step asks for, and waits for it if the step is not optional. */
export async function readStep(step: ReadingStep, scope: StepScope): Promise<ReadValue> {
  switch (step.type) {
    case 'extractText':
      return readEach(step, scope, { read: 'text', pattern: step.pattern, lines: step.lines }, step.all);
    case 'extractAttribute': {
      const { attribute, absolute, all } = step;
      return readEach(step, scope, { read: 'attribute', attribute, absolute, pattern: step.pattern }, all);
    }
    case 'extractNumber':
      return readEach(step, scope, { read: 'number', pattern: step.pattern });
    case 'extractMoney':
      return readEach(step, scope, { read: 'money', pattern: step.pattern });
    case 'extractDate':
      return readEach(step, scope, { read: 'date', pattern: step.pattern });
    case 'extractHtml':
      if (step.selectors === undefined && step.within === undefined) return readPage(step, scope);
      return readEach(step, scope, { read: 'html' });
    case 'extractValue':
      return readControl(step, scope);
    case 'extractTable':
      return readMatches(step, scope, ({ page, elements: [table] }, wanted) =>
        table === undefined ? null : readTableRecords(page, table, step.columns, wanted.described),
      );
    case 'extractRecords':
      return readMatches(step, scope, ({ page, elements }) => {
        const rows = elements.slice(0, step.max ?? elements.length);
        return rows.map((row) => readRecord(page, row, step.fields, (field) => findIn(page, row, field)));
      });
    case 'extractJson':
      return readJson(step, scope);
  }
}

function findIn(page: WholePage, row: Element, { selectors }: Aim): Element | null {
  for (const parts of wantedBy({ selectors }, null)?.alternatives ?? []) {
    const [found] = findElements({ page: page.document, root: row }, parts);
    if (found !== undefined) return found;
  }
  return null;
}

type AimedStep = Aim & { readonly optional?: boolean | undefined; readonly timeoutMs?: number | undefined };

function readEach(step: AimedStep, scope: StepScope, options: ReadOptions, all = false): Promise<ReadValue> {
  return readMatches(step, scope, ({ page, elements }, { described }) => {
    const read = (element: Element) => readElement(page, element, options, described);
    if (all) return elements.map(read).filter((value) => value !== null);
    return elements[0] === undefined ? null : read(elements[0]);
  });
}

/** `read`: null for what is not there yet. Something that cannot be read may still be on its way, too. */
async function readMatches(
  step: AimedStep,
  scope: StepScope,
  read: (sight: Sight, wanted: Wanted) => unknown,
): Promise<ReadValue> {
  const wanted = scope.aimed(step);
  let problem: ScrapeFailure | null = null;
  let isEmpty = false;
  const look = async (view: 'fresh' | 'last'): Promise<ReadValue | null> => {
    const sight = await scope.engine.look(wanted, view);
    const { page, alternative } = sight;
    if (alternative === null) return null;
    try {
      const value = read(sight, wanted);
      isEmpty = value === null;
      return value === null ? null : { value, alternative, page };
    } catch (error) {
      if (!(error instanceof ScrapeFailure) || error.type !== 'structure_changed') throw error;
      problem = error;
      return null;
    }
  };
  const found = await scope.until(step.optional === true ? 0 : scope.timeoutMs(step), look, 'last');
  if (found !== null) return found;
  // What is there and cannot be read is wrong, even where nothing would be right.
  if (problem !== null) throw problem;
  if (step.optional === true) return { value: null, alternative: null, page: null };
  throw new NoMatch(wanted, isEmpty ? `${wanted.described} is there, but there is nothing to read` : null);
}

async function readPage(step: StepOf<'extractHtml'>, scope: StepScope): Promise<ReadValue> {
  const page = await scope.engine.page(scope.frame(step), 'last');
  return { value: page.body, alternative: null, page };
}

async function readControl(step: StepOf<'extractValue'>, scope: StepScope): Promise<ReadValue> {
  const wanted = scope.aimed(step);
  const found = await scope.until(step.optional === true ? 0 : scope.timeoutMs(step), async (view) => {
    const { alternative, page } = await scope.engine.look(wanted, view);
    const value = alternative === null ? null : await scope.engine.value(wanted);
    return value === null ? null : { value, alternative, page };
  });
  if (found !== null) return found;
  if (step.optional === true) return { value: null, alternative: null, page: null };
  throw new NoMatch(wanted);
}

async function readJson(step: StepOf<'extractJson'>, scope: StepScope): Promise<ReadValue> {
  const { pointer, response, optional } = step;
  const part = (text: string, where: string) => {
    const value = follow(parseJson(text, where), pointer ?? '');
    if (value !== undefined) return value;
    return optional === true ? null : fail('structure_changed', `${where} has nothing at ${pointer}`);
  };
  if (response === undefined) {
    return readMatches(step, scope, ({ page, elements: [script] }, { described }) => {
      if (script === undefined) return null;
      return part(page.$(script).text(), described);
    });
  }
  const wish = { url: response, method: null, status: null, isAnyTime: true };
  const answer = await scope.engine.waitForResponse(wish, scope.timeoutMs(step));
  return { value: part(await answer.text(), answer.url), alternative: null, page: null };
}

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return fail('structure_changed', `${where} is not JSON`);
  }
}

/** By a JSON pointer; undefined for what is not there. */
function follow(value: unknown, pointer: string): unknown {
  let found = value;
  for (const name of pointer.split('/').slice(1)) {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}
