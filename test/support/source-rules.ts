import {
  isAwaitExpression,
  isCallExpression,
  isClassStaticBlockDeclaration,
  isElementAccessExpression,
  isIdentifier,
  isImportDeclaration,
  isImportSpecifier,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isObjectBindingPattern,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isPropertyDeclaration,
  isStringLiteral,
  isTemplateExpression,
  isVariableDeclaration,
  isVariableStatement,
  type Node,
  NodeFlags,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { type Finding, lineOf, nodesIn, type ParsedFile } from './syntax.ts';

/** How our code is written, beyond what the linter knows: each rule says where it holds and what to do instead. */
interface Rule {
  readonly holdsIn: (path: string) => boolean;
  /** What breaks the rule: where, and what to do instead. */
  readonly find: (file: ParsedFile) => Iterable<{ readonly at: Node | number; readonly problem: string }>;
}

const CLOCK = 'src/adapters/system/clock.ts';
/** What a process or a thread is started with: there, something has to happen. */
const ENTRIES = ['src/cli/main.ts', 'src/cli/launched.ts', 'src/main/heartbeat.ts', 'src/main/worker-child.ts'];
const isProduct = (path: string) => /^(?:src|scrapers|demo)\//.test(path);

const RULES: readonly Rule[] = [
  { holdsIn: () => true, find: findAny },
  { holdsIn: () => true, find: findPostponed },
  { holdsIn: (path) => path.startsWith('src/') && path !== CLOCK, find: findClocks },
  { holdsIn: (path) => isProduct(path) && !path.startsWith('src/adapters/embedded/'), find: findSql },
  { holdsIn: (path) => path.startsWith('src/'), find: findLongFile },
  { holdsIn: (path) => path.startsWith('test/'), find: findSkippedTests },
  { holdsIn: (path) => path.startsWith('src/') && !ENTRIES.includes(path), find: findEffects },
];

export function checkSources(files: readonly ParsedFile[]): Finding[] {
  return files.flatMap((file) =>
    RULES.filter((rule) => rule.holdsIn(file.path)).flatMap((rule) =>
      [...rule.find(file)].map(({ at, problem }) => ({
        file: file.path,
        line: typeof at === 'number' ? at : lineOf(file, at),
        problem,
      })),
    ),
  );
}

function* findAny({ root }: ParsedFile) {
  for (const node of nodesIn(root)) {
    if (node.kind !== SyntaxKind.AnyKeyword) continue;
    yield { at: node, problem: '`any` switches the checks off: use the type itself, or `unknown` and a schema' };
  }
}

function* findPostponed({ text }: ParsedFile) {
  for (const [index, line] of text.split('\n').entries()) {
    const word = /\b(?:TO(?:DO)|FIX(?:ME))\b/.exec(line)?.[0];
    if (word) yield { at: index + 1, problem: `${word}: do it, or open an issue` };
  }
}

const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  Date: ['now'],
  Math: ['random'],
  performance: ['now', 'timeOrigin'],
  crypto: ['randomUUID', 'randomBytes', 'randomInt', 'getRandomValues'],
  process: ['hrtime', 'uptime'],
  AbortSignal: ['timeout'],
  globalThis: ['setTimeout', 'setInterval', 'setImmediate'],
};
const GLOBALS = ['setTimeout', 'setInterval', 'setImmediate'];
const MODULES: Readonly<Record<string, readonly string[] | 'all'>> = {
  'node:timers': 'all',
  'node:timers/promises': 'all',
  'node:perf_hooks': ['performance'],
  'node:crypto': ['randomUUID', 'randomBytes', 'randomInt', 'randomFillSync', 'getRandomValues'],
  'node:process': ['hrtime', 'uptime'],
};

function* findClocks({ root }: ParsedFile) {
  for (const node of nodesIn(root)) {
    const used = clockUsedBy(node);
    if (used === null) continue;
    yield { at: node, problem: `${used} is a clock, a timer or chance: take a Clock (src/ports/clock.ts) and ask it` };
  }
}

function clockUsedBy(node: Node): string | null {
  if (isPropertyAccessExpression(node)) return memberOf(node.expression, node.name);
  if (isElementAccessExpression(node)) return memberOf(node.expression, node.argumentExpression);
  if (isVariableDeclaration(node) && isObjectBindingPattern(node.name) && node.initializer !== undefined) {
    const from = node.initializer;
    const taken = node.name.elements.map((element) => memberOf(from, element.propertyName ?? element.name));
    return taken.find((name) => name !== null) ?? null;
  }
  const isDate = (isNewExpression(node) || isCallExpression(node)) && nameOf(node.expression) === 'Date';
  if (isDate) return isCallExpression(node) || (node.arguments?.length ?? 0) === 0 ? 'the date of today' : null;
  if (isIdentifier(node) && GLOBALS.includes(node.text) && isUse(node)) return node.text;
  if (isImportDeclaration(node)) {
    const module = nameOf(node.moduleSpecifier) ?? '';
    const names = MODULES[module.startsWith('node:') ? module : `node:${module}`];
    if (names === 'all') return module;
    const specifiers = [...nodesIn(node)]
      .filter(isImportSpecifier)
      .map((each) => nameOf(each.propertyName ?? each.name));
    return specifiers.find((name) => name !== null && names?.includes(name)) ?? null;
  }
  return null;
}

function memberOf(object: Node, member: Node | undefined): string | null {
  const [from, name] = [nameOf(object), nameOf(member)];
  return from !== null && name !== null && Object.hasOwn(MEMBERS, from) && MEMBERS[from]?.includes(name)
    ? `${from}.${name}`
    : null;
}

/** A name that refers to the global, not one that names a member or a key. */
function isUse(node: Node): boolean {
  const { parent } = node;
  if (isPropertyAccessExpression(parent)) return parent.expression === node;
  return !('name' in parent && parent.name === node) && !isImportSpecifier(parent);
}

/** In capitals anywhere in a text, or in small letters at its beginning: prose has neither. */
const SQL = [
  ...[/\bSELECT\s[\s\S]+\sFROM\s/, /\bINSERT\s(?:OR \w+ )?INTO\s/, /\bUPDATE\s[\s\S]+\sSET\s/, /\bDELETE\sFROM\s/],
  ...[/\b(?:CREATE|DROP|ALTER)\s(?:UNIQUE |TEMP |VIRTUAL )?(?:TABLE|INDEX|TRIGGER|VIEW)\s/, /\bPRAGMA\s/],
  /^\s*(?:select\s[\s\S]+\sfrom\s|insert\s(?:or \w+ )?into\s|update\s\S+\sset\s|delete\sfrom\s|create\stable\s|pragma\s)/,
];

function* findSql({ root }: ParsedFile) {
  for (const node of nodesIn(root)) {
    if (!isStringLiteral(node) && !isNoSubstitutionTemplateLiteral(node) && !isTemplateExpression(node)) continue;
    const text = isTemplateExpression(node)
      ? [node.head.text, ...node.templateSpans.map((span) => span.literal.text)].join('x')
      : node.text;
    if (!SQL.some((pattern) => pattern.test(`${text} `))) continue;
    yield { at: node, problem: 'SQL stands in src/adapters/embedded only: ask the ledger through its port' };
  }
}

const MAX_LINES = 400;

function* findLongFile({ text }: ParsedFile) {
  const lines = text.trimEnd().split('\n').length;
  if (lines <= MAX_LINES) return;
  yield { at: MAX_LINES + 1, problem: `${lines} lines, ${MAX_LINES} at the most: give each subject a file of its own` };
}

const TEST_FUNCTIONS = ['test', 'it', 'describe', 'suite'];
const WAYS_OUT = ['skip', 'only', 'todo'];

function* findSkippedTests({ root }: ParsedFile) {
  for (const node of nodesIn(root)) {
    if (!isCallExpression(node)) continue;
    const way = wayOut(node.expression, node.arguments);
    if (way !== null) yield { at: node, problem: `${way}: every test runs, everywhere; repair it or remove it` };
  }
}

/** `test.skip(…)`, `t.todo()`, `test('…', { only: true }, …)`. */
function wayOut(callee: Node, args: readonly Node[]): string | null {
  if (isPropertyAccessExpression(callee)) {
    const name = nameOf(callee.name) ?? '';
    return WAYS_OUT.includes(name) ? `${nameOf(callee.expression) ?? '…'}.${name}` : null;
  }
  if (!TEST_FUNCTIONS.includes(nameOf(callee) ?? '')) return null;
  for (const property of args.filter(isObjectLiteralExpression).flatMap((options) => [...options.properties])) {
    const name = 'name' in property ? nameOf(property.name as Node) : null;
    if (name !== null && WAYS_OUT.includes(name)) return `{ ${name} }`;
  }
  return null;
}

const DECLARATIONS = [
  ...[SyntaxKind.ImportDeclaration, SyntaxKind.ExportDeclaration, SyntaxKind.InterfaceDeclaration],
  ...[SyntaxKind.TypeAliasDeclaration, SyntaxKind.FunctionDeclaration, SyntaxKind.ClassDeclaration],
];
const OUTSIDE = ['process', 'console', 'globalThis', 'fetch', 'queueMicrotask'];

function* findEffects({ root }: ParsedFile) {
  for (const statement of root.statements) {
    if (isVariableStatement(statement)) {
      if ((statement.declarationList.flags & NodeFlags.Const) === 0) {
        yield {
          at: statement,
          problem: 'a variable of the module is state that all share: keep it in a value or a class',
        };
      }
    } else if (!DECLARATIONS.includes(statement.kind)) {
      yield { at: statement, problem: 'importing a file does nothing: put this into a function' };
      continue;
    }
    for (const node of nodesAtImport(statement)) {
      const touches = isIdentifier(node) && OUTSIDE.includes(node.text) && isUse(node);
      if (!touches && !isAwaitExpression(node) && !isClassStaticBlockDeclaration(node)) continue;
      yield { at: node, problem: 'importing a file does nothing: put this into a function' };
    }
  }
}

const FUNCTIONS = [
  ...[SyntaxKind.FunctionDeclaration, SyntaxKind.FunctionExpression, SyntaxKind.ArrowFunction, SyntaxKind.Constructor],
  ...[SyntaxKind.MethodDeclaration, SyntaxKind.GetAccessor, SyntaxKind.SetAccessor],
];

/** What runs when the file is imported: everything but the insides of functions and the fields of objects to come. */
function* nodesAtImport(node: Node): Generator<Node> {
  yield node;
  if (FUNCTIONS.includes(node.kind)) return;
  if (isPropertyDeclaration(node) && !node.modifiers?.some(({ kind }) => kind === SyntaxKind.StaticKeyword)) return;
  const children: Node[] = [];
  node.forEachChild((child) => {
    children.push(child);
  });
  for (const child of children) yield* nodesAtImport(child);
}

function nameOf(node: Node | undefined): string | null {
  if (node === undefined) return null;
  return isIdentifier(node) || isStringLiteral(node) ? node.text : null;
}
