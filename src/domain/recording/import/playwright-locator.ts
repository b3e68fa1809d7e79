import { isRecord } from '../../is-record.ts';
import { textField } from './read-fields.ts';
import { asLiteral, type StepWriter } from './step-writer.ts';

/** What Playwright's locator is here: where to look, and what for. */
export interface FoundTarget {
  readonly selectors: readonly string[];
  readonly frame?: readonly string[];
  readonly within?: readonly string[];
}

/**
 * A locator of Playwright's recorder, as its JSON Lines have it: links of a chain, each `{kind, body, options, next}`. A
 * frame locator becomes part of the frame's path; of the links before the last, the nearest is the element around it.
 */
export function readLocator(writer: StepWriter, locator: unknown): FoundTarget | null {
  const frame: string[] = [];
  const found: string[] = [];
  for (let link = locator; isRecord(link); link = link['next']) {
    const kind = textField(link, 'kind') ?? 'default';
    const body = textField(link, 'body') ?? (typeof link['body'] === 'number' ? String(link['body']) : '');
    const options = isRecord(link['options']) ? link['options'] : {};
    if (kind === 'frame' || kind === 'frame-locator') {
      const last = kind === 'frame' ? found.pop() : selectorFor('default', body, options);
      if (last != null) frame.push(last);
      found.length = 0;
      continue;
    }
    if (kind === 'first' || (kind === 'nth' && body === '0')) continue;
    if (kind === 'nth' || kind === 'last') {
      writer.lose(`the first match is used, not the ${kind === 'last' ? 'last' : `one with number ${body}`}`);
      continue;
    }
    if (kind === 'has-text') {
      found.push(`text/${asLiteral(body)}`);
      continue;
    }
    const selector = selectorFor(kind, body, options);
    if (selector === null) writer.lose(`a locator "${kind}" is not known`);
    else found.push(selector);
  }
  const last = found.pop();
  if (last === undefined) return null;
  if (found.length > 1) writer.change('of the elements around it, only the nearest is kept');
  const around = found.at(-1);
  return {
    selectors: [last],
    ...(frame.length > 0 ? { frame } : {}),
    ...(around === undefined ? {} : { within: [around] }),
  };
}

function selectorFor(kind: string, body: string, options: Readonly<Record<string, unknown>>): string | null {
  const text = asLiteral(body);
  switch (kind) {
    case 'default':
      if (/^(?:xpath=|\/\/|\.\.)/.test(body)) return `xpath/${text.replace(/^xpath=/, '')}`;
      return text.replace(/^css=/, '');
    case 'role': {
      const name = textField(options, 'name');
      return name === undefined
        ? `role/${text}`
        : `role/${text}[name=${JSON.stringify(asLiteral(name)).replaceAll('\\"', '"')}]`;
    }
    case 'text':
    case 'label':
      return `${kind}/${text}`;
    case 'test-id':
      return `testid/${text}`;
    case 'alt':
    case 'title':
    case 'placeholder':
      return `[${kind}=${JSON.stringify(text)}]`;
    default:
      return null;
  }
}
