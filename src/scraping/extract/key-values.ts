import { type ChildNode, type Element, isTag, isText, type ParentNode } from 'domhandler';
import { cellsOf, spanOf } from './table-grid.ts';
import { uniqueNames } from './unique-names.ts';
import { visibleText } from './visible-text.ts';

type Pair = readonly [label: string, value: string];

/**
 * Labels and the values beside them; null if there are none: from `<dl>`, from rows of two cells (or of four, six …),
 * from lines with a bold label, from two elements side by side, and from `Label: value`. The second occurrence of a
 * label gets ` (2)`. A row without a label continues the one above it, as second lines of addresses and legal
 * descriptions do.
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
/** Blocks, too: the elements around them are not lines. */
const BLOCKS = new Set([...GROUPS, 'div', 'p', 'section', 'article', 'fieldset', 'form', 'header', 'main']);
const LABELS = new Set(['b', 'strong', 'label']);

/** No label or labelled line is longer. */
const MAX_LINE_LENGTH = 10_000;

/** Properties of every element, found in one pass: pages may be deep, and their texts long. */
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
  if (element.name === 'tr') return pairsOfRows([element], page);
  const children = element.children.filter(isTag);
  if (page.holders.has(element)) return pairsOfGroups(children, page);
  if (!children.some(({ name }) => BLOCKS.has(name))) {
    const labelled = pairsOfLabels(element, page);
    if (labelled.length > 0) return labelled;
  }
  const two = pairOfTwo(element, children, page);
  if (two !== null) return [two];
  const inner = pairsOfLines(children, page);
  if (inner.length > 0) return inner;
  const line = pairOfLine(element, page);
  return line === null ? [] : [line];
}

/** Consecutive rows belong together. */
function pairsOfGroups(children: readonly Element[], page: Survey): Pair[] {
  const pairs: Pair[] = [];
  let rows: Element[] = [];
  const end = () => {
    pairs.push(...pairsOfRows(rows, page));
    rows = [];
  };
  for (const child of children) {
    if (child.name === 'tr') {
      rows.push(child);
      continue;
    }
    end();
    pairs.push(...pairsIn(child, page));
  }
  end();
  return pairs;
}

/** Elements below each other, with one pair or more each. One with an empty label continues the pair above it. */
function pairsOfLines(children: readonly Element[], page: Survey): Pair[] {
  const pairs: Pair[] = [];
  let above: Element | null = null;
  for (const child of children) {
    const found = pairsIn(child, page);
    const [only] = found;
    if (above !== null && only !== undefined && isBlank(only[0]) && hasSameLabel(above, child)) {
      continueLast(pairs, only[1]);
      continue;
    }
    pairs.push(...found);
    above = found.length === 1 ? child : null;
  }
  return pairs;
}

/** An icon in the place of a label is its own label: the place must look like the one above, and be empty. */
function hasSameLabel(above: Element, below: Element): boolean {
  const [one] = above.children.filter(isTag);
  const [other] = below.children.filter(isTag);
  if (one === undefined || other === undefined || !isEmptyPlace(other)) return false;
  return one.name === other.name && one.attribs['class'] === other.attribs['class'];
}

function continueLast(pairs: Pair[], value: string): void {
  const last = pairs.pop();
  if (last !== undefined) pairs.push([last[0], joined(last[1], value)]);
}

/** Without copying the existing text: thousands of rows may continue one value. */
function joined(value: string, more: string): string {
  if (value === '' || more === '') return value + more;
  return `${value} ${more}`;
}

function isBlank(label: string): boolean {
  return withoutColon(label) === '';
}

/** Nothing that a person sees: no text, and nothing drawn. */
function isEmptyPlace(element: Element): boolean {
  return element.children.every((child) => {
    if (isText(child)) return isBlank(collapsed(child.data));
    return !isTag(child) || (!DRAWN.has(child.name) && isEmptyPlace(child));
  });
}

const DRAWN = new Set(['img', 'svg', 'input', 'button', 'select', 'textarea', 'i', 'canvas', 'object', 'iframe']);

/** Consecutive terms share their description. */
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
        if (terms.length > 0 && isEmptyPlace(child)) continue;
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

/**
 * The pairs of the rows of one table. A row continues the one above it if its label cell is empty, or if the label cell
 * above extends into it (`rowspan`). Columns are tracked, because rows of four cells contain two pairs.
 */
function pairsOfRows(rows: readonly Element[], page: Survey): Pair[] {
  const pairs: Pair[] = [];
  /** The pair of the row above that begins in a column, and how many rows its label still spans. */
  let above = new Map<number, { readonly pair: number; readonly span: number }>();
  for (const row of rows) {
    const cells = cellsOf(row);
    const here: typeof above = new Map();
    const spanned = above.get(0);
    // The label above occupies the first column, so the row begins with more of its value.
    const more = spanned !== undefined && spanned.span > 1 && cells.length % 2 === 1 ? cells.shift() : undefined;
    if (spanned !== undefined && more !== undefined) {
      pairs[spanned.pair] = continued(pairs[spanned.pair], visibleText(more));
      here.set(0, { pair: spanned.pair, span: spanned.span - 1 });
    }
    const from = more === undefined ? 0 : 1 + spanOf(more, 'colspan', 1);
    for (const { column, label, pair } of pairsOfRow(cells, page, from)) {
      const continues = label !== null && isBlank(pair[0]) && isEmptyPlace(label) ? above.get(column) : undefined;
      if (continues !== undefined) {
        pairs[continues.pair] = continued(pairs[continues.pair], pair[1]);
        here.set(column, continues);
      } else {
        if (label !== null && !isBlank(pair[0])) here.set(column, { pair: pairs.length, span: rowSpan(label) });
        pairs.push(pair);
      }
    }
    above = here;
  }
  return pairs;
}

function continued(pair: Pair | undefined, more: string): Pair {
  const [label, value] = pair ?? ['', ''];
  return [label, joined(value, more)];
}

/** A pair of a row; `label` is its cell, null if label and value share one. */
interface RowPair {
  readonly column: number;
  readonly label: Element | null;
  readonly pair: Pair;
}

/** `from` is the column that the first cell begins in. */
function pairsOfRow(cells: readonly Element[], page: Survey, from: number): RowPair[] {
  const unplaced = (pairs: readonly Pair[]) => pairs.map((pair): RowPair => ({ column: -1, label: null, pair }));
  const isLayout = cells.some((cell, index) => index % 2 === 0 && page.holders.has(cell));
  if (cells.length === 1 || isLayout) return unplaced(cells.flatMap((cell) => pairsIn(cell, page)));
  // A heading names columns, and an odd number of cells is a row of some other table.
  if (cells.length % 2 === 1 || cells.every(({ name }) => name === 'th')) return [];
  const inCells = cells.map((cell) => (page.holders.has(cell) ? [] : pairsOfLabels(cell, page)));
  if (inCells.every((pairs) => pairs.some(([, value]) => value !== ''))) return unplaced(inCells.flat());
  const texts = cells.map(visibleText);
  const columns = columnsOf(cells, from);
  return cells.flatMap((label, index): RowPair[] => {
    if (index % 2 === 1) return [];
    return [{ column: columns[index] ?? -1, label, pair: [texts[index] ?? '', texts[index + 1] ?? ''] }];
  });
}

/** The column that each cell begins in. */
function columnsOf(cells: readonly Element[], from: number): readonly number[] {
  let next = from;
  return cells.map((cell) => {
    const column = next;
    next += spanOf(cell, 'colspan', 1);
    return column;
  });
}

/** Rows that the label's cell covers, itself included. */
function rowSpan(label: Element): number {
  return spanOf(label, 'rowspan', Number.POSITIVE_INFINITY);
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

/** `<span>Owner</span><span>A. Smith</span>`, and nothing else. */
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

/** `Owner: A. Smith`. A time of day has no space after its colon. */
function pairOfLine(element: Element, page: Survey): Pair | null {
  if (page.lengthOf(element) > MAX_LINE_LENGTH) return null;
  const [, label, value] = /^([^:]{1,80}): (.+)$/.exec(visibleText(element)) ?? [];
  return label === undefined || value === undefined ? null : [label, value];
}

function textOf(node: ChildNode): string {
  if (isText(node)) return collapsed(node.data);
  return isTag(node) ? visibleText(node) : '';
}

function collapsed(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function withoutColon(label: string): string {
  let end = label.length;
  while (end > 0 && (label[end - 1] === ':' || label[end - 1] === ' ')) end -= 1;
  return label.slice(0, end);
}
