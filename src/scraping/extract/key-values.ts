import { type ChildNode, type Element, isTag, isText, type ParentNode } from 'domhandler';
import { cellsOf } from './table-grid.ts';
import { uniqueNames } from './unique-names.ts';
import { visibleText } from './visible-text.ts';

type Pair = readonly [label: string, value: string];

/**
 * Labels and the values beside them, null when there are none: from `<dl>`, from rows of two cells (or of four, six …),
 * from lines with a bold label, from two elements side by side, and from `Label: value`. The second of a label gets ` (2)`.
 */
export function readKeyValues(element: Element): Record<string, string> | null {
  const pairs = pairsIn(element, survey(element))
    .map(([label, value]): Pair => [withoutColon(label), value])
    .filter(([label]) => label !== '');
  if (pairs.length === 0) return null;
  const labels = uniqueNames(pairs.map(([label]) => label));
  return Object.fromEntries(pairs.map(([, value], index) => [labels[index] ?? '', value]));
}

/** Lists and rows: the text around them is not a pair. */
const GROUPS = new Set(['dl', 'table', 'tr', 'ul', 'ol', 'li']);
/** … and blocks: the elements around them are not lines. */
const BLOCKS = new Set([...GROUPS, 'div', 'p', 'section', 'article', 'fieldset', 'form', 'header', 'main']);
const LABELS = new Set(['b', 'strong', 'label']);

/** No label, and no line with one, is longer. */
const MAX_LINE_LENGTH = 10_000;

/** What is asked of every element on the way down, found in one pass: pages may be deep, and their texts long. */
interface Survey {
  /** Elements with a list or a row somewhere in them. */
  readonly holders: ReadonlySet<ParentNode>;
  /** Characters, roughly. */
  lengthOf(element: Element): number;
}

function survey(root: Element): Survey {
  const holders = new Set<ParentNode>();
  const lengths = new Map<Element, number>();
  const visit = (element: Element): number => {
    if (GROUPS.has(element.name)) {
      for (let above = element.parent; above !== null && !holders.has(above); above = above.parent) holders.add(above);
    }
    let length = 0;
    for (const child of element.children) {
      if (isTag(child)) length += visit(child);
      else if (isText(child)) length += child.data.length;
    }
    lengths.set(element, length);
    return length;
  };
  visit(root);
  return { holders, lengthOf: (element) => lengths.get(element) ?? 0 };
}

function pairsIn(element: Element, page: Survey): Pair[] {
  if (element.name === 'dl') return pairsOfList(element);
  if (element.name === 'tr') return pairsOfRow(element, page);
  const children = element.children.filter(isTag);
  if (page.holders.has(element)) return children.flatMap((child) => pairsIn(child, page));
  if (!children.some(({ name }) => BLOCKS.has(name))) {
    const labelled = pairsOfLabels(element, page);
    if (labelled.length > 0) return labelled;
  }
  const two = pairOfTwo(element, children, page);
  if (two !== null) return [two];
  const inner = children.flatMap((child) => pairsIn(child, page));
  if (inner.length > 0) return inner;
  const line = pairOfLine(element, page);
  return line === null ? [] : [line];
}

/** Terms in a row share what is said of them. */
function pairsOfList(list: ParentNode): Pair[] {
  const pairs: Pair[] = [];
  let terms: string[] = [];
  let details: string[] = [];
  const end = () => {
    for (const term of terms) pairs.push([term, details.join(' ')]);
    terms = [];
    details = [];
  };
  const visit = (parent: ParentNode) => {
    for (const child of parent.children) {
      if (!isTag(child)) continue;
      if (child.name === 'dt') {
        if (details.length > 0) end();
        terms.push(visibleText(child));
      } else if (child.name === 'dd') details.push(visibleText(child));
      else visit(child);
    }
  };
  visit(list);
  end();
  return pairs;
}

function pairsOfRow(row: Element, page: Survey): Pair[] {
  const cells = cellsOf(row);
  const isLayout = cells.some((cell, index) => index % 2 === 0 && page.holders.has(cell));
  if (cells.length === 1 || isLayout) return cells.flatMap((cell) => pairsIn(cell, page));
  // A heading names columns, and an odd number of cells is a row of some other table.
  if (cells.length % 2 === 1 || cells.every(({ name }) => name === 'th')) return [];
  const inCells = cells.map((cell) => (page.holders.has(cell) ? [] : pairsOfLabels(cell, page)));
  if (inCells.every((pairs) => pairs.some(([, value]) => value !== ''))) return inCells.flat();
  const texts = cells.map(visibleText);
  return texts.flatMap((label, index): Pair[] => (index % 2 === 0 ? [[label, texts[index + 1] ?? '']] : []));
}

/** `<b>Owner:</b> A. Smith <br> <b>Year:</b> 2025`, and the other way round: `Owner: <b>A. Smith</b>`. */
function pairsOfLabels({ children }: Element, page: Survey): Pair[] {
  const isLabel = (node: ChildNode): node is Element =>
    isTag(node) && LABELS.has(node.name) && page.lengthOf(node) <= MAX_LINE_LENGTH;
  if (!children.some(isLabel)) return [];
  const pairs: Pair[] = [];
  let label: string | null = null;
  let after: string[] = [];
  const end = () => {
    const value = after.filter(Boolean).join(' ');
    if (label !== null && (value !== '' || label.endsWith(':'))) pairs.push([label, value]);
    label = null;
    after = [];
  };
  for (const node of children) {
    if (!isLabel(node)) after.push(textOf(node));
    else if (label === null && after.findLast(Boolean)?.endsWith(':')) {
      label = after.filter(Boolean).join(' ');
      after = [visibleText(node)];
      end();
    } else {
      end();
      label = visibleText(node);
    }
  }
  end();
  return pairs;
}

/** `<span>Owner</span><span>A. Smith</span>`, and nothing beside them. */
function pairOfTwo(element: Element, children: readonly Element[], page: Survey): Pair | null {
  const [label, value] = children;
  if (label === undefined || value === undefined || children.length > 2) return null;
  if (element.children.some((node) => isText(node) && node.data.trim() !== '')) return null;
  if (children.some((child) => child.children.filter(isTag).some(({ name }) => BLOCKS.has(name)))) return null;
  if (children.some((child) => child.children.filter(isTag).length > 1)) return null;
  // Two whole lines are two pairs.
  if (children.some((child) => pairsOfLabels(child, page).some(([, text]) => text !== ''))) return null;
  if (pairOfLine(label, page) !== null && pairOfLine(value, page) !== null) return null;
  return [visibleText(label), visibleText(value)];
}

/** `Owner: A. Smith`. A time of day has no space behind its colon. */
function pairOfLine(element: Element, page: Survey): Pair | null {
  if (page.lengthOf(element) > MAX_LINE_LENGTH) return null;
  const [, label, value] = /^([^:]{1,80}): (.+)$/.exec(visibleText(element)) ?? [];
  return label === undefined || value === undefined ? null : [label, value];
}

function textOf(node: ChildNode): string {
  if (isText(node)) return node.data.replace(/\s+/g, ' ').trim();
  return isTag(node) ? visibleText(node) : '';
}

function withoutColon(label: string): string {
  let end = label.length;
  while (end > 0 && (label[end - 1] === ':' || label[end - 1] === ' ')) end -= 1;
  return label.slice(0, end);
}
