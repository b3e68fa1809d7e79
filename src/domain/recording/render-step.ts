import { isRecord } from '../is-record.ts';
import {
  asIs,
  type Escape,
  IN_CSS,
  IN_PATTERN,
  IN_URL,
  IN_XPATH,
  renderTemplate,
  type TemplateValues,
} from './render-template.ts';
import { NESTED_FIELDS, type Step } from './step.ts';
import { hasPlaceholder, TemplateError } from './template.ts';

/**
 * The step with the values of the item in its texts. Steps and conditions inside of it are left as they are: their values
 * may not be known yet, so the runner renders each when its turn comes (`renderTexts` for conditions).
 */
export function renderStep<Kind extends Step>(step: Kind, values: TemplateValues): Kind {
  const rendered = Object.entries(step).map(([field, value]) => [
    field,
    LATER.has(field) ? value : renderAny(value, values, field, field),
  ]);
  return Object.fromEntries(rendered) as Kind;
}

/** The same for anything else that holds texts, such as a condition. */
export function renderTexts<Texts>(texts: Texts, values: TemplateValues): Texts {
  return renderAny(texts, values, '', '') as Texts;
}

const LATER: ReadonlySet<string> = new Set([...NESTED_FIELDS, 'condition', 'until']);

/** `key` is the nearest name around a text: it decides what the text is, and so how values are written in it. */
function renderAny(value: unknown, values: TemplateValues, key: string, path: string): unknown {
  if (typeof value === 'string') return hasPlaceholder(value) ? renderText(value, values, key, path) : value;
  if (Array.isArray(value)) return value.map((each, index) => renderAny(each, values, key, `${path}.${index}`));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      // Inside of a test of an address, as `url: {contains}`, it is still an address.
      renderAny(
        inner,
        values,
        key === 'url' && name !== 'matches' ? key : name,
        path === '' ? name : `${path}.${name}`,
      ),
    ]),
  );
}

function renderText(text: string, values: TemplateValues, key: string, path: string): string {
  try {
    return renderTemplate(text, values, chooseEscape(text, key));
  } catch (error) {
    if (error instanceof TemplateError && path !== '') throw new TemplateError(`${path}: ${error.message}`);
    throw error;
  }
}

function chooseEscape(text: string, key: string): Escape {
  if (key === 'url' || key === 'response') return IN_URL;
  if (key === 'matches' || key === 'pattern') return IN_PATTERN;
  if (key !== 'selectors' && key !== 'frame' && key !== 'within' && key !== 'to') return asIs;
  if (text.startsWith('xpath/')) return IN_XPATH;
  return /^(?:aria|role|text|label|testid)\//.test(text) ? asIs : IN_CSS;
}
