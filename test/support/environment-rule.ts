import {
  isElementAccessExpression,
  isIdentifier,
  isImportDeclaration,
  isImportSpecifier,
  isObjectBindingPattern,
  isPropertyAccessExpression,
  isStringLiteral,
  isVariableDeclaration,
  type Node,
} from 'typescript/unstable/ast';
import { type Finding, lineOf, nodesIn, type ParsedFile } from './syntax.ts';

/** Only config.ts reads the environment, so that there is one place that says what can be set and how it is parsed. */
export function checkEnvironment(files: readonly ParsedFile[]): Finding[] {
  const problem = 'reads the environment: only src/config.ts does; take the value as an argument';
  return files
    .filter(({ path }) => /^(?:src|scrapers|demo)\//.test(path) && path !== 'src/config.ts')
    .flatMap((file) =>
      [...nodesIn(file.root)]
        .filter(readsEnvironment)
        .map((node) => ({ file: file.path, line: lineOf(file, node), problem })),
    );
}

function readsEnvironment(node: Node): boolean {
  if (isPropertyAccessExpression(node)) return isProcess(node.expression) && nameOf(node.name) === 'env';
  if (isElementAccessExpression(node)) return isProcess(node.expression) && nameOf(node.argumentExpression) === 'env';
  if (isVariableDeclaration(node) && node.initializer !== undefined && isObjectBindingPattern(node.name)) {
    const names = node.name.elements.map((element) => nameOf(element.propertyName ?? element.name));
    return isProcess(node.initializer) && names.includes('env');
  }
  if (isImportDeclaration(node)) {
    if (!['process', 'node:process'].includes(nameOf(node.moduleSpecifier) ?? '')) return false;
    return [...nodesIn(node)].some(
      (each) => isImportSpecifier(each) && nameOf(each.propertyName ?? each.name) === 'env',
    );
  }
  return false;
}

/** `process`, or `globalThis.process`. */
function isProcess(node: Node): boolean {
  return nameOf(isPropertyAccessExpression(node) ? node.name : node) === 'process';
}

function nameOf(node: Node | undefined): string | null {
  return node !== undefined && (isIdentifier(node) || isStringLiteral(node)) ? node.text : null;
}
