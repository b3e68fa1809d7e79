import { posix } from 'node:path';
import {
  isCallExpression,
  isExportDeclaration,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isPropertyAccessExpression,
  isStringLiteral,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { type Finding, lineOf, nodesIn, type ParsedFile } from './syntax.ts';

/** What every room of the controller may import from outside of it. */
const CONTROLLER = ['domain', 'ports', 'contract'];

/**
 * The import table of ARCHITECTURE.md: a zone, and what it may import besides itself. `adapters/*` is every adapter.
 * `dashboard` is a room that does not exist yet; its place is already decided.
 */
export const IMPORT_TABLE: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  ports: ['domain'],
  contract: ['domain'],
  'adapters/*': ['domain', 'ports'],
  egress: ['domain', 'ports'],
  sessions: ['domain', 'ports', 'egress'],
  scraping: ['domain', 'ports', 'egress', 'sessions'],
  worker: ['domain', 'ports', 'scraping'],
  // The rooms of the controller, in the order in which they build on each other: there is no way back.
  'controller/results': [...CONTROLLER],
  'controller/engine': [...CONTROLLER, 'controller/results'],
  'controller/intake': [...CONTROLLER],
  'controller/jobs': [...CONTROLLER, 'controller/intake', 'controller/results'],
  'controller/sites': [...CONTROLLER],
  'controller/runs': [...CONTROLLER, 'controller/intake'],
  'controller/extraction': [...CONTROLLER, 'controller/intake', 'controller/jobs', 'controller/results'],
  'controller/feed': [...CONTROLLER, 'controller/engine', 'controller/jobs', 'controller/runs'],
  'controller/metrics': [...CONTROLLER, 'controller/engine'],
  'controller/api': [
    ...CONTROLLER,
    ...['controller/engine', 'controller/intake', 'controller/jobs', 'controller/results'],
    ...['controller/extraction', 'controller/feed', 'controller/metrics', 'controller/sites'],
    'controller/runs',
  ],
  runs: [...['domain', 'ports', 'contract', 'sessions', 'scraping', 'egress', 'controller/jobs', 'controller/intake']],
  'config.ts': ['domain'],
  // The composition root. It hands use cases to commands, and knows nothing about them.
  main: [
    ...[
      'domain',
      'ports',
      'contract',
      'adapters/*',
      'egress',
      'sessions',
      'scraping',
      'worker',
      'controller/*',
      'runs',
    ],
    'config.ts',
  ],
  // The demo county may be imported only as the entry of a separate process.
  cli: ['domain', 'contract', 'config.ts', 'main', 'demo'],
  // It talks to the REST API and to nothing else.
  dashboard: ['domain', 'contract'],
  // Outside of src.
  scrapers: [],
  examples: [],
  demo: [],
  docs: ['domain'],
  // The stack: it describes where the engine runs, and contains no part of it. A lane is a queue and a service there.
  deploy: ['domain'],
};

/**
 * Single files of a zone that another may import, and none of their neighbours: plain data, so that two cannot differ. One
 * that imports something itself does not qualify: its neighbours would come along.
 */
const FILES_OF: Readonly<Record<string, readonly string[]>> = {
  // How the table is created, and under which names metrics are published.
  deploy: ['src/adapters/aws/table-schema.ts', 'src/controller/metrics/emf-names.ts'],
};

/** Files that one zone may not import although it may import their neighbours, and what to import instead. */
const CLOSED_FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // Commands get use cases, never a ledger.
  cli: { 'src/main/engine.ts': 'src/main/controller.ts' },
};

/** These test and measure everything, and no other zone may depend on them. */
const MAY_IMPORT_ALL = ['test', 'bench'];

/** Packages that only some may use, and zones that may use only some packages. */
const PACKAGES_OF: Readonly<Record<string, (name: string) => boolean>> = {
  domain: (name) => name === 'zod',
  contract: (name) => name === 'zod' || name === 'eventsource-parser',
  // Its types alone, which say what a browser is: a rule below holds for what is loaded.
  ports: (name) => name === 'playwright-core',
  // What an author outside this repository could not import, our scrapers do not import either.
  scrapers: (name) => name === 'trawl/scraper' || name.startsWith('node:'),
  examples: (name) => name.startsWith('trawl/') || name.startsWith('node:'),
};
/** A name that ends in a star means all names with that prefix. */
const ZONES_OF: Readonly<Record<string, readonly string[]>> = {
  'node:sqlite': ['adapters/embedded'],
  '@aws-sdk/*': ['adapters/aws'],
  '@smithy/*': ['adapters/aws'],
  'aws-cdk-lib*': ['deploy'],
  constructs: ['deploy'],
  // The only way to a target, so that there is one place where an address is checked.
  undici: ['egress'],
  socks: ['egress'],
  cheerio: ['scraping'],
  'cheerio/slim': ['scraping'],
  'cheerio-select': ['scraping'],
  domhandler: ['scraping'],
  htmlparser2: ['scraping'],
  'robots-parser': ['scraping'],
  // A scraper gets Playwright's own page.
  'playwright-core': ['sessions', 'scraping', 'ports'],
  fastify: ['controller/api'],
  'prom-client': ['controller/metrics'],
  'hyparquet-writer': ['controller/results'],
  'eventsource-parser': ['contract'],
};

/** Scrapers and the user's configuration are found at run time; every other import must be there to read. */
const MAY_COMPUTE_IMPORTS = ['scraping', 'config.ts'];

interface Import {
  readonly node: Node;
  /** Null when it is computed. */
  readonly specifier: string | null;
  /** False for the entry of another thread or process: it is allowed or not like an import, but closes no cycle. */
  readonly isLoaded: boolean;
  /** Imports only types: nothing of it is left when the program runs. */
  readonly isErased: boolean;
}

export function checkImports(files: readonly ParsedFile[]): Finding[] {
  const findings: Finding[] = [];
  const loads = new Map<string, { to: string; line: number }[]>();
  for (const file of files) {
    const from = zoneOf(file.path);
    const report = (node: Node, problem: string) =>
      findings.push({ file: file.path, line: lineOf(file, node), problem });
    if (!isInTable(from)) {
      report(file.root, `${from} is not in the import table: say there what it may import, and who may import it`);
      continue;
    }
    for (const { node, specifier, isLoaded, isErased } of importsOf(file)) {
      if (isPlainData(file.path)) report(node, 'is plain data that another zone imports: it may import nothing');
      if (specifier === null) {
        if (mayNotCompute(from)) report(node, 'imports a computed name, which nobody can check: write the path out');
      } else if (specifier.startsWith('.')) {
        const to = posix.join(posix.dirname(file.path), specifier);
        const instead = CLOSED_FILES[from]?.[to];
        if (instead !== undefined) report(node, `${from} imports ${to}: import ${instead} instead`);
        const problem = FILES_OF[from]?.includes(to) ? null : forbidden(from, zoneOf(to));
        if (problem !== null) report(node, problem);
        if (isLoaded) loads.set(file.path, [...(loads.get(file.path) ?? []), { to, line: lineOf(file, node) }]);
      } else {
        const problem = forbiddenPackage(from, specifier);
        if (problem !== null) report(node, problem);
        else if (from === 'ports' && !isErased) report(node, `ports loads ${specifier}: it may import its types only`);
      }
    }
  }
  return [...findings, ...cycles(loads)];
}

function zoneOf(path: string): string {
  const [top = '', second = '', third = ''] = path.split('/');
  if (top !== 'src') return top;
  return second === 'adapters' || second === 'controller' ? `${second}/${third}` : second;
}

function isPlainData(path: string): boolean {
  return Object.values(FILES_OF).some((files) => files.includes(path));
}

function rowOf(zone: string): string {
  return zone.startsWith('adapters/') && !zone.endsWith('.ts') ? 'adapters/*' : zone;
}

function isInTable(zone: string): boolean {
  return MAY_IMPORT_ALL.includes(zone) || Object.hasOwn(IMPORT_TABLE, rowOf(zone));
}

function forbidden(from: string, to: string): string | null {
  if (from === to || MAY_IMPORT_ALL.includes(from)) return null;
  if (!isInTable(to)) return `imports ${to}, which is not in the import table`;
  const allowed = IMPORT_TABLE[rowOf(from)] ?? [];
  if (allowed.includes(rowOf(to)) || (to.startsWith('controller/') && allowed.includes('controller/*'))) return null;
  if (rowOf(from) === 'adapters/*' && rowOf(to) === 'adapters/*') {
    return `${from} imports ${to}: adapters do not know each other; move what both need to domain or ports`;
  }
  if (rowOf(to) === 'adapters/*')
    return `${from} names the adapter ${to}: only src/main does; take the port as an argument`;
  const others = allowed.length === 0 ? 'nothing but itself' : `itself and ${allowed.join(', ')}`;
  return `${from} imports ${to}: it may import ${others}`;
}

function forbiddenPackage(from: string, specifier: string): string | null {
  const isAllowed = PACKAGES_OF[from];
  if (isAllowed && !isAllowed(specifier)) return `${from} imports the package ${specifier}, which it may not`;
  const zones = zonesOf(specifier);
  if (zones === undefined || zones.includes(from) || MAY_IMPORT_ALL.includes(from)) return null;
  return `${from} imports ${specifier}: only ${zones.join(', ')} may`;
}

function zonesOf(specifier: string): readonly string[] | undefined {
  const isMeant = (name: string) => (name.endsWith('*') ? specifier.startsWith(name.slice(0, -1)) : specifier === name);
  return Object.entries(ZONES_OF).find(([name]) => isMeant(name))?.[1];
}

function mayNotCompute(zone: string): boolean {
  return !MAY_COMPUTE_IMPORTS.includes(zone) && !MAY_IMPORT_ALL.includes(zone);
}

export function* importsOf(file: ParsedFile): Generator<Import> {
  for (const node of nodesIn(file.root)) {
    if ((isImportDeclaration(node) || isExportDeclaration(node)) && node.moduleSpecifier !== undefined) {
      // A list of nothing but types, `import { type A }`, still loads the file.
      const isErased = isImportDeclaration(node)
        ? node.importClause?.phaseModifier === SyntaxKind.TypeKeyword
        : node.isTypeOnly;
      yield { node, specifier: literal(node.moduleSpecifier), isLoaded: true, isErased };
    } else if (isImportTypeNode(node)) {
      const specifier = isLiteralTypeNode(node.argument) ? literal(node.argument.literal) : null;
      yield { node, specifier, isLoaded: true, isErased: true };
    } else if (isCallExpression(node) && isImporting(node.expression)) {
      yield {
        node,
        specifier: literal(node.arguments[0]),
        isLoaded: node.expression.kind === SyntaxKind.ImportKeyword,
        isErased: false,
      };
    } else if (isNewExpression(node) && isIdentifier(node.expression) && node.expression.text === 'URL') {
      // `new URL('./thread.ts', import.meta.url)`: how the code names what threads and processes run.
      const specifier = literal(node.arguments?.[0]);
      if (specifier?.startsWith('.') && specifier.endsWith('.ts'))
        yield { node, specifier, isLoaded: false, isErased: false };
    }
  }
}

/** `import(…)`, `require(…)`, `import.meta.resolve(…)`. */
function isImporting(callee: Node): boolean {
  if (callee.kind === SyntaxKind.ImportKeyword) return true;
  if (isIdentifier(callee)) return callee.text === 'require';
  return isPropertyAccessExpression(callee) && callee.expression.kind === SyntaxKind.MetaProperty;
}

function literal(node: Node | undefined): string | null {
  return node !== undefined && (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) ? node.text : null;
}

/** Each cycle of files once, beginning with its first file in order. */
function cycles(loads: ReadonlyMap<string, readonly { to: string; line: number }[]>): Finding[] {
  const findings: Finding[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (file: string): void => {
    trail.push(file);
    for (const { to, line } of loads.get(file) ?? []) {
      const start = trail.indexOf(to);
      if (start >= 0) {
        const circle = [...trail.slice(start), to].join(' → ');
        findings.push({
          file,
          line,
          problem: `closes a circle of imports: ${circle}; move what both need to a third file`,
        });
      } else if (!done.has(to)) visit(to);
    }
    trail.pop();
    done.add(file);
  };
  for (const file of [...loads.keys()].sort()) if (!done.has(file)) visit(file);
  return findings;
}
