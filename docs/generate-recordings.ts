import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { CONDITION_SCHEMAS } from '../src/domain/recording/condition.ts';
import { RECORDING } from '../src/domain/recording/recording.ts';
import { FRAME, SELECTOR_PREFIXES, WITHIN } from '../src/domain/recording/selector.ts';
import { STEP_FAMILIES } from '../src/domain/recording/step.ts';
import { COMMON, NAVIGATES } from '../src/domain/recording/step-fields.ts';
import { FILTERS } from '../src/domain/recording/template-filters.ts';

/**
 * Writes the reference of steps and the JSON Schema for editors from the schemas that recordings are checked with. A test
 * fails when they are out of date.
 */

export const COMMAND = 'node docs/generate-recordings.ts';

export const PAGE = new URL('recording-steps.md', import.meta.url);
export const SCHEMA = new URL('recording.schema.json', import.meta.url);

type Schema = Readonly<Record<string, unknown>>;

/** For editors; it says what a recording may hold. Names that refer to each other are checked by `recordings check`. */
export function recordingSchema(): string {
  const schema = z.toJSONSchema(RECORDING, { io: 'input', unrepresentable: 'any' });
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** Fields that so many steps have that they are explained once. */
const HIDDEN = { ...COMMON, ...NAVIGATES, frame: FRAME.optional(), within: WITHIN.optional() };

/** The page with what is between its marks made anew. */
export function stepsPage(text: string): string {
  return [
    ['steps', stepTables()],
    ['conditions', CONDITION_SCHEMAS.map((schema) => section('###', schema, false)).join('\n')],
    [
      'selectors',
      table(
        ['prefix', 'finds'],
        Object.entries(SELECTOR_PREFIXES).map(([name, about]) => [`\`${name}/\``, about]),
      ),
    ],
    [
      'filters',
      table(
        ['filter', 'example', 'makes'],
        Object.entries(FILTERS).map(([name, { example, about }]) => [`\`${name}\``, `\`${example}\``, about]),
      ),
    ],
    ['recording', table(['field', 'kind', 'about'], rowsOf(RECORDING))],
    ['common', table(['field', 'kind', 'about'], rowsOf(z.strictObject(HIDDEN)))],
  ].reduce((page, [name = '', made = '']) => replaceBetween(page, name, made), text);
}

function stepTables(): string {
  return Object.entries(STEP_FAMILIES)
    .map(
      ([family, schemas]) =>
        `## ${capital(family)}\n\n${schemas.map((schema) => section('###', schema, true)).join('\n')}`,
    )
    .join('\n');
}

function section(heading: string, schema: z.ZodObject, hidesCommon: boolean): string {
  const { type, ...shape } = schema.shape;
  const name = (type as z.ZodLiteral<string>).value;
  const rows = rowsOf(schema).filter(([field = '']) => {
    const plain = field.replaceAll(/[`*]/g, '').trim();
    return plain !== 'type' && !(hidesCommon && plain in HIDDEN);
  });
  const fields =
    Object.keys(shape).length === 0 || rows.length === 0 ? '' : `\n${table(['field', 'kind', 'about'], rows)}`;
  return `${heading} ${name}\n\n${schema.description ?? ''}\n${fields}`;
}

/** Name, kind and description of each field; required ones come with a star. */
function rowsOf(schema: z.ZodObject): readonly (readonly string[])[] {
  const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;
  const json: Schema = { ...resolve(whole, whole), $defs: whole['$defs'] };
  const properties = (json['properties'] ?? {}) as Record<string, Schema>;
  const required = (json['required'] ?? []) as readonly string[];
  return Object.entries(properties)
    .filter(([name]) => name !== '$schema')
    .flatMap(([name, field]) => [
      rowFor(name, required.includes(name), field, json),
      ...Object.entries((field['properties'] ?? {}) as Record<string, Schema>).map(([inner, innerField]) =>
        rowFor(`${name}.${inner}`, false, innerField, json),
      ),
    ]);
}

function rowFor(name: string, isRequired: boolean, field: Schema, root: Schema): readonly string[] {
  const about = [descriptionOf(field, root), defaultOf(field)].filter((text) => text !== '').join(' ');
  return [`\`${name}\`${isRequired ? ' *' : ''}`, kindOf(field, root), about];
}

function descriptionOf(field: Schema, root: Schema): string {
  const own = field['description'];
  if (typeof own === 'string') return own;
  const target = resolve(field, root)['description'];
  return typeof target === 'string' ? target : '';
}

function defaultOf(field: Schema): string {
  const value = field['default'];
  if (value === undefined || value === '' || typeof value === 'object' || JSON.stringify(value).length > 40) return '';
  return `Default: \`${JSON.stringify(value)}\`.`;
}

function kindOf(field: Schema, root: Schema): string {
  const reference = field['$ref'];
  if (typeof reference === 'string') {
    const name = reference.replace('#/$defs/', '');
    return name.startsWith('__') ? kindOf(resolve(field, root), root) : (KINDS[name] ?? name);
  }
  const { enum: values, const: constant, anyOf, type, items } = field;
  if (Array.isArray(values)) return values.map((value) => `\`${value}\``).join(', ');
  if (constant !== undefined) return `\`${JSON.stringify(constant)}\``;
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map((each: Schema) => kindOf(each, root)))].join(' or ');
  if (type === 'array') return `list of ${kindOf((items ?? {}) as Schema, root)}`;
  return typeof type === 'string' ? (WORDS[type] ?? type) : 'object';
}

const WORDS: Readonly<Record<string, string>> = { string: 'text', boolean: 'true or false', integer: 'whole number' };
const KINDS: Readonly<Record<string, string>> = {
  Selectors: 'selectors',
  Selector: 'selector',
  TextTest: '[text test](#tests)',
  UrlTest: '[URL test](#tests)',
  CountTest: '[count test](#tests)',
  Condition: '[condition](#conditions)',
  RecordField: 'record field',
  Step: 'step',
  Frame: '[frame](#selectors)',
  Within: '[selectors](#selectors)',
};

function resolve(field: Schema, root: Schema): Schema {
  const reference = field['$ref'];
  if (typeof reference !== 'string') return field;
  const defs = (root['$defs'] ?? {}) as Record<string, Schema>;
  return defs[reference.replace('#/$defs/', '')] ?? {};
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return `${[line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')}\n`;
}

function replaceBetween(page: string, name: string, made: string): string {
  const [begin, end] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`recording-steps.md has no part "${name}"`);
  return `${page.slice(0, from + begin.length)}\n${made}\n${page.slice(to)}`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

if (import.meta.main) {
  writeFileSync(PAGE, stepsPage(readFileSync(PAGE, 'utf8')));
  writeFileSync(SCHEMA, recordingSchema());
}
