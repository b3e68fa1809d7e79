import {
  isBinaryExpression,
  isCaseClause,
  isIdentifier,
  isPropertyAccessExpression,
  isStringLiteral,
  isSwitchStatement,
  type Node,
} from 'typescript/unstable/ast';
import { type Finding, lineOf, nodesIn, type ParsedFile } from './syntax.ts';

/** Settings whose kinds are rows of a table, and the table. */
const TABLES: Readonly<Record<string, string>> = {
  backend: 'src/main/backends.ts',
  results: 'src/main/results-backends.ts',
};

/** A new kind of backend or result store is a file and a row: no other code asks which of them it is. */
export function checkBackends(files: readonly ParsedFile[]): Finding[] {
  return files
    .filter(({ path }) => path.startsWith('src/') && path !== 'src/config.ts')
    .flatMap((file) =>
      [...nodesIn(file.root)].flatMap((node) => {
        const setting = settingAskedFor(node);
        if (setting === null) return [];
        const problem = `asks for the kind of ${setting}: make it a member of the module in ${TABLES[setting]}`;
        return [{ file: file.path, line: lineOf(file, node), problem }];
      }),
    );
}

/** `config.backend.kind === 'aws'`, or a switch over it. */
function settingAskedFor(node: Node): string | null {
  if (isBinaryExpression(node)) {
    if (isStringLiteral(node.right)) return settingOf(node.left);
    return isStringLiteral(node.left) ? settingOf(node.right) : null;
  }
  if (!isSwitchStatement(node)) return null;
  return [...nodesIn(node)].some(isCaseClause) ? settingOf(node.expression) : null;
}

/** The name before `.kind`, if it is that of such a setting. */
function settingOf(node: Node): string | null {
  if (!isPropertyAccessExpression(node) || nameOf(node.name) !== 'kind') return null;
  const owner = node.expression;
  const name = nameOf(isPropertyAccessExpression(owner) ? owner.name : owner);
  return name !== null && Object.hasOwn(TABLES, name) ? name : null;
}

function nameOf(node: Node): string | null {
  return isIdentifier(node) ? node.text : null;
}
