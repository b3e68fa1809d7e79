import { tsPlugin } from '@sveltejs/acorn-typescript';
import { type AnyNode, type ObjectExpression, Parser, type Program } from 'acorn';
import type { ScraperKind } from './scraper.ts';

/** What a scraper's file says about it. */
export interface ScraperSummary {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly kind: ScraperKind;
  /** Null if they cannot be known without running the file. */
  readonly hosts: readonly string[] | null;
}

/** `helper`: the file has no default export and serves others. `unclear`: only importing it shows. */
export type Scanned =
  | { readonly kind: 'scraper'; readonly summary: ScraperSummary }
  | { readonly kind: 'helper' }
  | { readonly kind: 'unclear' };

/**
 * Reads `export default define…Scraper({ id: '…', … })` from the source, without importing it: hundreds of scrapers
 * must not slow down the start, and a broken one must not break the others. Only plain texts are trusted.
 */
export function scanScraper(source: string): Scanned {
  const program = parseModule(source);
  if (program === null) return UNCLEAR;
  const exported = program.body.find((statement) => statement.type === 'ExportDefaultDeclaration');
  if (exported === undefined) return exportsDefaultByName(program) ? UNCLEAR : { kind: 'helper' };
  const call = exported.declaration;
  if (call.type !== 'CallExpression' || call.callee.type !== 'Identifier') return UNCLEAR;
  const kind = Object.hasOwn(KINDS, call.callee.name) ? KINDS[call.callee.name] : undefined;
  const [definition] = call.arguments;
  if (kind === undefined || definition?.type !== 'ObjectExpression') return UNCLEAR;

  const fields = fieldsOf(definition);
  if (fields === null) return UNCLEAR;
  const [id, name, version, description] = ['id', 'name', 'version', 'description'].map((field) =>
    textOf(fields.get(field)),
  );
  if (!id || name == null || version == null || description == null) return UNCLEAR;
  const hosts = kind === 'plain' ? [] : textsOf(fields.get('hosts'));
  return { kind: 'scraper', summary: { id, name, version, description, kind, hosts } };
}

const UNCLEAR: Scanned = { kind: 'unclear' };

const KINDS: Readonly<Record<string, ScraperKind>> = {
  defineHttpScraper: 'http',
  defineBrowserScraper: 'browser',
  definePlainScraper: 'plain',
};

const TypeScriptParser = Parser.extend(tsPlugin());

/** Null for a file that cannot be run: importing it reports where. */
function parseModule(source: string): Program | null {
  try {
    return TypeScriptParser.parse(source, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true });
  } catch {
    return null;
  }
}

/** `export { scraper as default }`, `export { default } from …` */
function exportsDefaultByName({ body }: Program): boolean {
  return body.some(
    (statement) =>
      statement.type === 'ExportNamedDeclaration' &&
      statement.specifiers.some(({ exported }) => nameOf(exported) === 'default'),
  );
}

/** The value of each field, by its name; null when fields come from elsewhere, or one comes twice. */
function fieldsOf({ properties }: ObjectExpression): ReadonlyMap<string, AnyNode> | null {
  const fields = new Map<string, AnyNode>();
  for (const property of properties) {
    if (property.type !== 'Property' || property.computed) return null;
    const name = nameOf(property.key);
    if (name === null || fields.has(name)) return null;
    fields.set(name, property.value);
  }
  return fields;
}

function nameOf(node: AnyNode): string | null {
  if (node.type === 'Identifier') return node.name;
  return node.type === 'Literal' ? String(node.value) : null;
}

/** `'…'`, a template without holes, or several of them joined by `+`. */
function textOf(node: AnyNode | null | undefined): string | null {
  switch (node?.type) {
    case 'Literal':
      return typeof node.value === 'string' ? node.value : null;
    case 'TemplateLiteral':
      return node.expressions.length === 0 ? (node.quasis[0]?.value.cooked ?? null) : null;
    case 'BinaryExpression': {
      const texts = [textOf(node.left), textOf(node.right)];
      return node.operator === '+' && !texts.includes(null) ? texts.join('') : null;
    }
    default:
      return null;
  }
}

/** `['…', '…']` */
function textsOf(value: AnyNode | undefined): string[] | null {
  if (value?.type !== 'ArrayExpression') return null;
  const texts = value.elements.map(textOf);
  return texts.every((text) => text !== null) ? texts : null;
}
