import { asLiteral } from '../import/step-writer.ts';
import { LIMITS } from '../limits.ts';
import { describeSelectors, type Frame, parseSelector, type Selectors } from '../selector.ts';
import { STEP, type Step } from '../step.ts';
import type { PageEvent, RecordedElement, RecordedEvent, TabEvent } from './recorded-event.ts';

/** Steps of a recording, and what a person did that is not among them. */
export interface RecordedSteps {
  readonly steps: readonly Step[];
  readonly notes: readonly string[];
}

/** What a person did, as steps: keystrokes become values, and what the browser does by itself is left out. */
export function stepsFromEvents(url: string, events: readonly RecordedEvent[]): RecordedSteps {
  const writer = new EventWriter(url);
  // They come by several ways, each of which is in order.
  for (const event of [...events].sort((a, b) => a.at - b.at)) writer.add(event);
  return writer.end();
}

/** A step that later events may still change. */
interface Draft {
  step: Readonly<Record<string, unknown>> & { readonly type: Step['type'] };
  readonly tab: number;
  readonly at: number;
  readonly ref: string | null;
}

type Action = Extract<RecordedEvent, PageEvent>;

/** After a key, the browser clicks at once. */
const KEY_CLICK_MS = 1000;
/** A page that comes later than this has another reason than the step before it. */
const LONGEST_NAVIGATION_MS = 30_000;

class EventWriter {
  #drafts: Draft[];
  readonly #notes: string[] = [];
  /** The tab that the next step would be carried out in; null if that is not known. */
  #current: number | null = 0;
  #tabs = [0];
  /** Opened by the person, and still empty. */
  readonly #empty = new Set<number>();
  /** Show something that is not a page. */
  readonly #documents = new Set<number>();
  readonly #openers = new Map<number, number | null>();
  readonly #secrets = new Map<string, string>();

  constructor(url: string) {
    this.#drafts = [{ step: { type: 'goto', url: asLiteral(url) }, tab: 0, at: Number.NEGATIVE_INFINITY, ref: null }];
  }

  add(event: RecordedEvent): void {
    if ('frame' in event) {
      if (!this.#documents.has(event.tab)) this.#act(event);
    } else this.#note(event);
  }

  end(): RecordedSteps {
    // Windows that were closed to end the recording.
    while (this.#last !== null && (this.#last.step.type === 'closeTab' || this.#last.step.type === 'switchTab')) {
      this.#drafts.pop();
    }
    const steps: Step[] = [];
    for (const { step } of this.#drafts) {
      const parsed = STEP.safeParse(step);
      if (!parsed.success) this.#notes.push(`a step (${step.type}) could not be recorded`);
      else if (steps.length < LIMITS.steps) steps.push(parsed.data);
    }
    if (this.#drafts.length > LIMITS.steps) this.#notes.push(`only the first ${LIMITS.steps} steps were kept`);
    return { steps, notes: this.#notes };
  }

  get #last(): Draft | null {
    return this.#drafts.at(-1) ?? null;
  }

  #act(event: Action) {
    if (event.type === 'drop') {
      this.#notes.push('dragging is not recorded; add a drag step by hand');
      return;
    }
    const { element } = event;
    const selectors = element === null ? null : readable(element);
    if (element !== null && selectors === null) {
      this.#notes.push(`a step (${event.type}) was left out: its element has no selector that can be used`);
      return;
    }
    const target = selectors === null ? {} : targetOf(selectors, event.frame);
    const ref = element?.ref ?? null;
    const isSameAsLast = (type: Step['type']) =>
      this.#last?.step.type === type && this.#last.ref === ref && !('navigation' in this.#last.step);
    const write = (step: Draft['step']) => this.#write({ step, tab: event.tab, at: event.at, ref });
    switch (event.type) {
      case 'click': {
        if (event.isByKey && this.#isClickOfKey(event.tab, event.at, ref)) return;
        const { button, modifiers, offset } = event;
        return write({
          ...{ type: 'click', ...target },
          ...(button !== 'left' && { button }),
          ...(modifiers.length > 0 && { modifiers }),
          ...(offset !== null && { offset }),
        });
      }
      case 'doubleClick':
        for (let clicks = 0; clicks < 2 && isSameAsLast('click'); clicks += 1) this.#drafts.pop();
        return write({ type: 'doubleClick', ...target });
      case 'fill':
      case 'secret': {
        // The click that sets the cursor, and the value as it was a key ago.
        while (isSameAsLast('click') || isSameAsLast('fill')) this.#drafts.pop();
        const value = event.type === 'fill' ? asLiteral(event.value) : `{{input.${this.#secretName(ref ?? '')}}}`;
        return write({ type: 'fill', ...target, value });
      }
      case 'select': {
        if (isSameAsLast('select')) this.#drafts.pop();
        const values = event.values.map(asLiteral);
        const [only] = values;
        if (only === undefined) {
          this.#notes.push(`nothing is selected in ${described(selectors)}: that is not recorded`);
          return;
        }
        return write({ type: 'select', ...target, value: values.length === 1 ? only : values });
      }
      case 'check':
        if (isSameAsLast('check') || isSameAsLast('uncheck')) this.#drafts.pop();
        return write({ type: event.checked ? 'check' : 'uncheck', ...target });
      case 'press':
        return write({ type: 'press', ...target, key: asLiteral(event.key) });
      case 'files':
        this.#notes.push(`the file chosen at ${described(selectors)} is not recorded; add an upload step by hand`);
    }
  }

  /** Enter in a field clicks the form's button, and on a button that button: one of the two is the step. */
  #isClickOfKey(tab: number, at: number, ref: string | null): boolean {
    const last = this.#last;
    if (last === null || last.step.type !== 'press' || last.tab !== tab || at - last.at > KEY_CLICK_MS) return false;
    if (last.ref !== ref) return true;
    this.#drafts.pop();
    return false;
  }

  #secretName(ref: string): string {
    const known = this.#secrets.get(ref);
    if (known !== undefined) return known;
    const name = this.#secrets.size === 0 ? 'password' : `password_${this.#secrets.size + 1}`;
    this.#secrets.set(ref, name);
    return name;
  }

  #write(draft: Draft): void {
    this.#switchTo(draft.tab, draft.at);
    this.#drafts.push(draft);
  }

  #switchTo(tab: number, at: number): void {
    if (this.#current === tab) return;
    const index = this.#tabs.indexOf(tab);
    const to = index === 0 ? 'first' : index === this.#tabs.length - 1 ? 'latest' : index;
    this.#empty.delete(tab);
    this.#current = tab;
    this.#drafts.push({ step: { type: 'switchTab', to }, tab, at, ref: null });
  }

  #note(event: TabEvent & { readonly tab: number; readonly at: number }) {
    const { tab, at } = event;
    switch (event.type) {
      case 'opened':
        this.#tabs.push(tab);
        this.#openers.set(tab, event.opener);
        if (event.opener === null) this.#empty.add(tab);
        return;
      case 'closed':
        return this.#close(tab, at);
      case 'went':
        return this.#go(event, tab, at);
      case 'download':
      case 'document':
        if (event.type === 'document') this.#documents.add(tab);
        return this.#keepDocument(this.#documents.has(tab) ? (this.#openers.get(tab) ?? tab) : tab, at);
      case 'dialog':
        return this.#answer(event, tab, at);
    }
  }

  #close(tab: number, at: number): void {
    const wasDocument = this.#documents.delete(tab);
    this.#tabs = this.#tabs.filter((each) => each !== tab);
    if (this.#current !== tab || wasDocument) return;
    this.#drafts.push({ step: { type: 'closeTab' }, tab, at, ref: null });
    // With more than one left, engines need not agree on which one is next.
    this.#current = this.#tabs.length === 1 ? (this.#tabs[0] ?? null) : null;
  }

  #go({ url, how }: Extract<TabEvent, { type: 'went' }>, tab: number, at: number) {
    // The step that kept the document never left the page.
    const wasDocument = this.#documents.has(tab) && how !== 'followed' && how !== 'reload';
    if (wasDocument) this.#documents.delete(tab);
    if (this.#documents.has(tab) || (wasDocument && how !== 'typed')) return;
    const cause = this.#causeOf(tab, at);
    if (how === 'followed' || (cause !== null && how !== 'typed')) {
      if (cause !== null) cause.step = { ...cause.step, navigation: {} };
      return;
    }
    if (how !== 'typed') return this.#write({ step: { type: how }, tab, at, ref: null });
    if (this.#drafts.length === 1 && tab === 0 && this.#drafts[0]?.at === Number.NEGATIVE_INFINITY) {
      // The page that the recording begins with.
      this.#drafts = this.#drafts.map((draft) => ({ ...draft, at }));
      return;
    }
    const address = asLiteral(url);
    if (this.#empty.delete(tab)) {
      this.#current = tab;
      this.#drafts.push({ step: { type: 'newTab', url: address }, tab, at, ref: null });
    } else this.#write({ step: { type: 'goto', url: address }, tab, at, ref: null });
  }

  /** The step of this tab that a new page comes from; null if it is none, or had its page. */
  #causeOf(tab: number, at: number): Draft | null {
    const draft = this.#drafts.findLast((each) => each.tab === tab) ?? null;
    if (draft === null || at - draft.at > LONGEST_NAVIGATION_MS) return null;
    return CAUSES.has(draft.step.type) && !('navigation' in draft.step) ? draft : null;
  }

  /** A click that led to a document is the step that keeps it. */
  #keepDocument(tab: number, at: number) {
    const draft = this.#drafts.findLast((each) => each.tab === tab) ?? null;
    if (draft?.step.type === 'download') return;
    if (draft === null || draft.step.type !== 'click' || at - draft.at > LONGEST_NAVIGATION_MS) {
      return this.#write({ step: { type: 'download' }, tab, at, ref: null });
    }
    const { selectors, frame } = draft.step;
    draft.step = { type: 'download', selectors, ...(frame !== undefined && { frame }) };
  }

  /** Dialogs are accepted unless a step before says otherwise. */
  #answer({ kind, isAccepted, text }: Extract<TabEvent, { type: 'dialog' }>, tab: number, at: number): void {
    const isPrompt = kind === 'prompt' && isAccepted;
    if (kind === 'beforeunload' || (isAccepted && !isPrompt)) return;
    const step = isPrompt
      ? ({ type: 'dialog', action: 'answer', text: asLiteral(text) } as const)
      : ({ type: 'dialog', action: 'dismiss' } as const);
    const cause = this.#drafts.findLastIndex((each) => each.tab === tab);
    const place = cause < 0 ? this.#drafts.length : cause;
    this.#drafts.splice(place, 0, { step, tab, at, ref: null });
  }
}

/** Steps that another page can come from. */
const CAUSES: ReadonlySet<Step['type']> = new Set([
  ...(['click', 'doubleClick', 'press', 'fill', 'select', 'check', 'uncheck'] as const),
]);

function targetOf(selectors: Selectors, frame: Frame | null): { selectors: Selectors; frame?: Frame } {
  return frame === null ? { selectors } : { selectors, frame };
}

/** Those that can be used, with braces that are not placeholders; null if there are none. */
function readable({ selectors }: RecordedElement): Selectors | null {
  const good = selectors.filter((alternative) => [alternative].flat().every(canBeRead));
  const literal = good.map((each) => (typeof each === 'string' ? asLiteral(each) : each.map(asLiteral)));
  return literal.length === 0 ? null : literal;
}

function canBeRead(selector: string): boolean {
  try {
    parseSelector(selector);
    return true;
  } catch {
    return false;
  }
}

function described(selectors: Selectors | null): string {
  return selectors === null ? 'the page' : describeSelectors(selectors);
}
