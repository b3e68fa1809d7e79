import { fail } from '../scrape-failure.ts';
import type { CheckControl, Control, SelectControl, TextControl } from './form-controls.ts';

/** What a field can be filled with: a text, a tick, or several choices. */
export type FieldValue = string | number | boolean | readonly string[];

/**
 * Fills the controls that one key of `fill` names: one field, a group of radio buttons, or checkboxes of one name. A
 * choice that does not exist means that the site changed; it is never silently dropped.
 */
export function fillControls(key: string, controls: readonly Control[], value: FieldValue): void {
  const texts = controls.filter((control) => control.kind === 'text');
  const select = controls.find((control) => control.kind === 'select');
  const boxes = controls.filter(isBox);
  // The scripts of the page would have enabled them by now; otherwise they would silently not be sent.
  for (const control of controls) control.disabled = false;
  if (texts.length > 0) fillTexts(key, texts, value);
  else if (select !== undefined) choose(key, select, textsOf(key, value));
  else if (boxes.length > 0) tick(key, boxes, value);
  else fail('structure_changed', `"${key}" is a button or takes a file: it cannot be filled`);
}

/** The current value of the controls; null for a group in which nothing is chosen. */
export function valueOfControls(controls: readonly Control[]): string | null {
  for (const control of controls) {
    if (control.kind === 'text' || control.kind === 'submit') return control.value;
    if (control.kind === 'select') return control.options.find(({ selected }) => selected)?.value ?? null;
    if ((control.kind === 'checkbox' || control.kind === 'radio') && control.checked) return control.value;
  }
  return null;
}

function isBox(control: Control): control is CheckControl {
  return control.kind === 'checkbox' || control.kind === 'radio';
}

function fillTexts(key: string, fields: readonly TextControl[], value: FieldValue): void {
  for (const [index, text] of textsOf(key, value).entries()) {
    const field = fields[index] ?? fail('structure_changed', `the page has no more than ${index} fields "${key}"`);
    field.value = text;
  }
}

function choose(key: string, select: SelectControl, wanted: readonly string[]): void {
  if (!select.multiple) checkOne(key, wanted);
  const chosen = wanted.map((text) => {
    const option =
      select.options.find(({ value }) => value === text) ?? select.options.find(({ label }) => sameText(label, text));
    const choices = select.options.map(({ value }) => value);
    return option ?? fail('structure_changed', noChoice(key, text, choices));
  });
  for (const option of select.options) option.selected = chosen.includes(option);
  for (const option of chosen) option.disabled = false;
}

function tick(key: string, boxes: readonly CheckControl[], value: FieldValue): void {
  if (typeof value === 'boolean') {
    if (boxes.length > 1) fail('unexpected', `"${key}" matches ${boxes.length} checkboxes: say which`);
    for (const box of boxes) box.checked = value;
    return;
  }
  const wanted = textsOf(key, value);
  const choices = boxes.map((box) => box.value);
  if (boxes.some(({ kind }) => kind === 'radio')) checkOne(key, wanted);
  for (const text of wanted) if (!choices.includes(text)) fail('structure_changed', noChoice(key, text, choices));
  for (const box of boxes) box.checked = wanted.includes(box.value);
}

function checkOne(key: string, wanted: readonly string[]): void {
  if (wanted.length > 1) fail('unexpected', `"${key}" takes one choice, not ${wanted.length}`);
}

function noChoice(key: string, text: string, choices: readonly string[]): string {
  const shown = choices.slice(0, 10).map((choice) => JSON.stringify(choice));
  return `"${key}" has no choice ${JSON.stringify(text)}, only ${shown.join(', ')}${choices.length > 10 ? ' …' : ''}`;
}

function textsOf(key: string, value: FieldValue): readonly string[] {
  if (typeof value === 'boolean') return fail('unexpected', `"${key}" is not a checkbox`);
  if (typeof value === 'object' && value !== null) return value;
  // Not all scrapers are type-checked, and a site would take `undefined` for a name.
  if (typeof value !== 'string' && typeof value !== 'number')
    return fail('unexpected', `"${key}" is filled with nothing`);
  return [String(value)];
}

function sameText(one: string, other: string): boolean {
  return one.toLowerCase() === other.replaceAll(/\s+/g, ' ').trim().toLowerCase();
}
