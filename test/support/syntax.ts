import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { Node, SourceFile } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

/**
 * Source files as syntax trees, for the tests that check how our code is written. The parser is the compiler's own. Its
 * interface is still called unstable; the compiler is pinned to one version, and this file is the only one to use it.
 */
export interface SourceText {
  /** From the root of the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface ParsedFile extends SourceText {
  readonly root: SourceFile;
}

/** A rule that is broken, at a place, with what to do instead. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly problem: string;
}

export function show(findings: readonly Finding[]): string {
  return findings.map(({ file, line, problem }) => `${file}:${line} ${problem}`).join('\n');
}

const PROJECT = join(import.meta.dirname, '..', '..');

/** Every TypeScript file in these folders of the project. A folder that is not there has none. */
export function readSources(from: readonly string[]): SourceText[] {
  return from
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: PROJECT, exclude: ['**/node_modules/**'] }))
    .map((path) => path.replaceAll(sep, '/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(PROJECT, path), 'utf8') }));
}

const files = new Map<string, string>();
const folders = new Set<string>();
let compiler: API | null = null;

/** Parses files that need not exist on any disk. Nothing is resolved or checked: each file is parsed by itself. */
export function parse(sources: readonly SourceText[]): ParsedFile[] {
  // A folder for each call: the compiler keeps what it has read. It ends with this process.
  const folder = `/virtual-${folders.size}`;
  folders.add(folder);
  for (const { path, text } of sources) files.set(`${folder}/${path}`, text);
  const config = `${folder}/tsconfig.json`;
  const compilerOptions = { noResolve: true, noLib: true, noCheck: true, types: [], allowImportingTsExtensions: true };
  files.set(config, JSON.stringify({ compilerOptions, files: sources.map(({ path }) => path) }));

  compiler ??= startCompiler();
  const program = compiler.updateSnapshot({ openProjects: [config] }).getProject(config)?.program;
  return sources.map((source) => {
    const root = program?.getSourceFile(`${folder}/${source.path}`);
    if (root === undefined) throw new Error(`${source.path} could not be parsed`);
    return { ...source, root };
  });
}

function startCompiler(): API {
  return new API({
    cwd: '/',
    fs: {
      readFile: (name) => files.get(name) ?? null,
      fileExists: (name) => files.has(name),
      directoryExists: (name) => folders.has(name),
      getAccessibleEntries: () => ({ files: [], directories: [] }),
      realpath: (path) => path,
    },
  });
}

/** The node and everything under it, in the order of the text. */
export function* nodesIn(node: Node): Generator<Node> {
  yield node;
  const children: Node[] = [];
  node.forEachChild((child) => {
    children.push(child);
  });
  for (const child of children) yield* nodesIn(child);
}

export function lineOf(file: ParsedFile, node: Node): number {
  return file.text.slice(0, node.getStart(file.root)).split('\n').length;
}
