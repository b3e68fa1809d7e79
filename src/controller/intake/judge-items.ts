import type { FieldProblem } from '../../domain/schema-problems.ts';
import type { BadLine, ItemChunk, ReadItem } from './read-items.ts';
import type { CatalogScraper } from './scraper-catalog.ts';

/** A schema may report many problems with an input, and quotes it. */
const MAX_PROBLEM_LENGTH = 500;

/** Moves items whose input the scraper does not accept to the bad lines. */
export function judgeItems({ items, bad, ignoredColumns }: ItemChunk, scraper: CatalogScraper): ItemChunk {
  const good: ReadItem[] = [];
  const refused: BadLine[] = [];
  for (const read of items) {
    const problems = scraper.problemsOf(read.item.input);
    if (problems.length === 0) good.push(read);
    else refused.push({ line: read.line, code: 'invalid_input', problem: inWords(problems) });
  }
  if (refused.length === 0) return { items: good, bad, ignoredColumns };
  return { items: good, bad: [...bad, ...refused].sort((one, other) => one.line - other.line), ignoredColumns };
}

export function inWords(problems: readonly FieldProblem[]): string {
  return problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

export function shortened(problem: string): string {
  if (problem.length <= MAX_PROBLEM_LENGTH) return problem;
  // Does not cut in the middle of a character.
  return `${problem.slice(0, MAX_PROBLEM_LENGTH).toWellFormed()} …`;
}
