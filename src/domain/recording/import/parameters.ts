import { describeSelectors, type Selectors } from '../selector.ts';
import type { Step } from '../step.ts';
import { nestedSteps } from '../step.ts';

/** A value that was typed when the recording was made, and that is probably another one for each item. */
export interface ImportedParameter {
  /** `3`, as messages name steps. */
  readonly step: string;
  readonly field: string;
  readonly value: string;
  /** What the input could call it: `parcel_number`. */
  readonly name: string;
}

/** Values that were typed or chosen, each once. */
export function findParameters(steps: readonly Step[], prefix = ''): readonly ImportedParameter[] {
  const found: ImportedParameter[] = [];
  for (const [index, step] of steps.entries()) {
    const path = `${prefix}${index + 1}`;
    const typed = readTyped(step);
    if (typed !== null && !typed.value.includes('{{') && looksLikeInput(typed.value)) {
      const { field, value, label } = typed;
      found.push({ step: path, field, value, name: nameFor(label) });
    }
    for (const [field, inner] of nestedSteps(step)) found.push(...findParameters(inner, `${path}.${field}.`));
  }
  return withDifferentNames(found);
}

/** The steps with placeholders for these values, wherever they occur as a whole or in an address. */
export function parameterize(steps: readonly Step[], parameters: readonly ImportedParameter[]): readonly Step[] {
  const longestFirst = [...parameters].sort((a, b) => b.value.length - a.value.length);
  const replace = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return replaceText(value, key, longestFirst);
    if (Array.isArray(value)) return value.map((each) => replace(each, key));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replace(each, name)]));
  };
  return steps.map((step) => replace(step, '') as Step);
}

function replaceText(text: string, key: string, parameters: readonly ImportedParameter[]): string {
  if (KEPT.has(key)) return text;
  for (const { value, name } of parameters) {
    if (text === value) return `{{input.${name}}}`;
    const isPlace = key === 'url' || key === 'selectors' || key === 'contains' || key === 'equals';
    if (isPlace && value.length >= MIN_LENGTH_INSIDE) {
      const inside = key === 'url' ? encodeURIComponent(value) : value;
      const pieces = text.split(inside);
      if (pieces.length > 1) return pieces.join(`{{input.${name}}}`);
    }
  }
  return text;
}

/** Shorter values occur by chance inside of other texts. */
const MIN_LENGTH_INSIDE = 5;

/** Texts that are never values. */
const KEPT: ReadonlySet<string> = new Set([
  'type',
  'name',
  'field',
  'variable',
  'key',
  'state',
  'button',
  'outcome',
  'sequence',
  'action',
]);

function readTyped(step: Step): { field: string; value: string; label: string } | null {
  if (step.type === 'fill') return { field: 'value', value: step.value, label: labelOf(step.selectors) };
  if (step.type === 'type') return { field: 'text', value: step.text, label: labelOf(step.selectors) };
  if (step.type !== 'select') return null;
  const value = typeof step.value === 'string' ? step.value : step.label;
  return value === undefined
    ? null
    : { field: step.label === undefined ? 'value' : 'label', value, label: labelOf(step.selectors) };
}

/** What people call the control, if a selector says so; otherwise the first selector. */
function labelOf(selectors: Selectors): string {
  for (const alternative of selectors) {
    const last = typeof alternative === 'string' ? alternative : (alternative.at(-1) ?? '');
    if (/^(?:label|aria)\//.test(last)) return describeSelectors([last]);
    const [, name] = /^role\/[\w-]+\[name="(.*)"\]$/s.exec(last) ?? [];
    if (name !== undefined) return `"${name}"`;
  }
  return describeSelectors(selectors);
}

/** `on`, `1` and the like are settings of a form. */
function looksLikeInput(value: string): boolean {
  return value.trim().length >= 3;
}

/** The last words of a label or a selector: `#ctl00_txtParcelNumber` is parcel_number. */
function nameFor(label: string): string {
  const words = label
    .replace(/^.*[\s>](?=[^\s>]+$)/, (start) => (label.startsWith('"') ? start : ''))
    .replace(/^.*\[@?(?:name|id|placeholder)=/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(
      (word) => word !== '' && !/^(?:ctl\d+|txt|tb|input|textbox|select|combobox|the|field|body|form)$/.test(word),
    )
    .slice(-3);
  const name = words
    .join('_')
    .replace(/^\d+_?/, '')
    .slice(0, 40);
  return name === '' ? 'value' : name;
}

/** One name for one value; another value of the same name gets a number. */
function withDifferentNames(parameters: readonly ImportedParameter[]): readonly ImportedParameter[] {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  return parameters.map((parameter) => {
    const known = names.get(parameter.value);
    let name = known ?? parameter.name;
    for (let number = 2; known === undefined && taken.has(name); number += 1) name = `${parameter.name}_${number}`;
    names.set(parameter.value, name);
    taken.add(name);
    return { ...parameter, name };
  });
}
