import { type ChildNode, Document, Element, isTag, isText, type ParentNode, Text } from 'domhandler';
import { type Axis, type BinaryOperator, parseXPath, type XPath, type XPathStep } from './xpath-parser.ts';

/** Something that a path can lead to. */
type Node = ParentNode | Text | Attribute;
type Value = readonly Node[] | string | number | boolean;

class Attribute {
  readonly owner: Element;
  readonly name: string;

  constructor(owner: Element, name: string) {
    this.owner = owner;
    this.name = name;
  }
}

interface Place {
  readonly node: Node;
  readonly position: number;
  readonly size: number;
}

/** Parsing one costs as much as finding it in a small page, and a job uses the same ones for each item. */
const PARSED = new Map<string, XPath>();
const MAX_PARSED = 1000;

/** The elements that an XPath expression selects, in the page's order. Throws if it is not supported. */
export function findByXPath(root: ParentNode, source: string): Element[] {
  const found = evaluate(parsed(source), { node: root, position: 1, size: 1 });
  if (!Array.isArray(found)) throw new Error('it selects no elements');
  return found.filter((node): node is Element => node instanceof Element);
}

function parsed(source: string): XPath {
  const known = PARSED.get(source);
  if (known !== undefined) return known;
  const fresh = parseXPath(source);
  if (PARSED.size < MAX_PARSED) PARSED.set(source, fresh);
  return fresh;
}

function evaluate(path: XPath, place: Place): Value {
  switch (path.kind) {
    case 'literal':
      return path.value;
    case 'binary':
      return binary(path.operator, path.left, path.right, place);
    case 'call':
      return call(path.name, path.args, place);
    case 'filter':
      return path.predicates.reduce(filtered, nodesOf(evaluate(path.of, place)));
    case 'path':
      return path.steps.reduce<readonly Node[]>(walk, startOf(path.from, place));
  }
}

function startOf(from: XPath | 'root' | 'context', place: Place): readonly Node[] {
  if (from === 'context') return [place.node];
  if (from === 'root') return [rootOf(place.node)];
  return nodesOf(evaluate(from, place));
}

function walk(from: readonly Node[], { axis, test, predicates }: XPathStep): readonly Node[] {
  const all = new Set<Node>();
  for (const node of from) {
    const reached = [...alongAxis(node, axis, test)].filter((each) => passes(each, test));
    for (const each of predicates.reduce(filtered, reached)) all.add(each);
  }
  return [...all];
}

function filtered(nodes: readonly Node[], predicate: XPath): Node[] {
  return nodes.filter((node, index) => {
    const value = evaluate(predicate, { node, position: index + 1, size: nodes.length });
    return typeof value === 'number' ? value === index + 1 : isTrue(value);
  });
}

function* alongAxis(node: Node, axis: Axis, test: string): Generator<Node> {
  switch (axis) {
    case 'self':
      return yield node;
    case 'child':
      return yield* childrenOf(node);
    case 'descendant':
      return yield* descendantsOf(node);
    case 'descendant-or-self':
      yield node;
      return yield* descendantsOf(node);
    case 'parent':
      return yield* [parentOf(node)].filter((parent) => parent !== null);
    case 'ancestor':
      return yield* ancestorsOf(node);
    case 'ancestor-or-self':
      yield node;
      return yield* ancestorsOf(node);
    case 'following-sibling':
      for (let next = siblingOf(node, 'next'); next !== null; next = next.next) if (isNode(next)) yield next;
      return;
    case 'preceding-sibling':
      for (let previous = siblingOf(node, 'prev'); previous !== null; previous = previous.prev) {
        if (isNode(previous)) yield previous;
      }
      return;
    case 'attribute': {
      if (!(node instanceof Element)) return;
      const names = test === '*' ? Object.keys(node.attribs) : [test];
      for (const name of names) if (node.attribs[name] !== undefined) yield new Attribute(node, name);
    }
  }
}

function passes(node: Node, test: string): boolean {
  if (test === 'node()' || node instanceof Attribute) return true;
  if (test === 'text()') return node instanceof Text;
  return node instanceof Element && (test === '*' || node.name.toLowerCase() === test);
}

function* childrenOf(node: Node): Generator<Node> {
  if ('children' in node) for (const child of node.children) if (isNode(child)) yield child;
}

function* descendantsOf(node: Node): Generator<Node> {
  for (const child of childrenOf(node)) {
    yield child;
    yield* descendantsOf(child);
  }
}

function* ancestorsOf(node: Node): Generator<Node> {
  for (let parent = parentOf(node); parent !== null; parent = parentOf(parent)) yield parent;
}

function parentOf(node: Node): ParentNode | null {
  return node instanceof Attribute ? node.owner : node.parent;
}

function siblingOf(node: Node, side: 'next' | 'prev'): ChildNode | null {
  return node instanceof Attribute || node instanceof Document ? null : node[side];
}

function isNode(node: ChildNode): node is Element | Text {
  return isTag(node) || isText(node);
}

function rootOf(node: Node): ParentNode {
  let root = node instanceof Attribute ? node.owner : node;
  for (let parent = parentOf(root); parent !== null; parent = parentOf(parent)) root = parent;
  return root instanceof Text ? new Document([]) : root;
}

function binary(operator: BinaryOperator, left: XPath, right: XPath, place: Place): Value {
  switch (operator) {
    case 'or':
      return isTrue(evaluate(left, place)) || isTrue(evaluate(right, place));
    case 'and':
      return isTrue(evaluate(left, place)) && isTrue(evaluate(right, place));
    case '|':
      return [...new Set([...nodesOf(evaluate(left, place)), ...nodesOf(evaluate(right, place))])];
    default:
      return compare(operator, evaluate(left, place), evaluate(right, place));
  }
}

/** A set of nodes compares as true if any of them does. */
function compare(operator: BinaryOperator, left: Value, right: Value): boolean {
  if (Array.isArray(left)) return left.some((node) => compare(operator, textOf([node]), right));
  if (Array.isArray(right)) return right.some((node) => compare(operator, left, textOf([node])));
  if (operator === '=' || operator === '!=') {
    const isBoolean = typeof left === 'boolean' || typeof right === 'boolean';
    const isNumber = typeof left === 'number' || typeof right === 'number';
    const isSame = isBoolean
      ? isTrue(left) === isTrue(right)
      : isNumber
        ? numberOf(left) === numberOf(right)
        : left === right;
    return isSame === (operator === '=');
  }
  const [a, b] = [numberOf(left), numberOf(right)];
  return operator === '<' ? a < b : operator === '<=' ? a <= b : operator === '>' ? a > b : a >= b;
}

type Text1 = (...texts: string[]) => Value;

const ON_TEXTS: Readonly<Record<string, Text1>> = {
  contains: (text = '', part = '') => text.includes(part),
  'starts-with': (text = '', part = '') => text.startsWith(part),
  'normalize-space': (text = '') => text.replace(/\s+/g, ' ').trim(),
  'string-length': (text = '') => text.length,
  string: (text = '') => text,
  concat: (...texts) => texts.join(''),
  'substring-after': (text = '', part = '') =>
    text.includes(part) ? text.slice(text.indexOf(part) + part.length) : '',
  'substring-before': (text = '', part = '') => text.slice(0, Math.max(0, text.indexOf(part))),
  translate: (text = '', from = '', to = '') =>
    [...text].map((each) => (from.includes(each) ? (to[from.indexOf(each)] ?? '') : each)).join(''),
};

function call(name: string, args: readonly XPath[], place: Place): Value {
  const values = args.map((each) => evaluate(each, place));
  switch (name) {
    case 'position':
      return place.position;
    case 'last':
      return place.size;
    case 'true':
      return true;
    case 'false':
      return false;
    case 'not':
      return !isTrue(values[0] ?? false);
    case 'count':
      return nodesOf(values[0] ?? []).length;
    case 'number':
      return numberOf(values[0] ?? [place.node]);
    case 'name':
    case 'local-name':
      return nameOf(nodesOf(values[0] ?? [place.node])[0]);
    default: {
      const onTexts = Object.hasOwn(ON_TEXTS, name) ? ON_TEXTS[name] : undefined;
      if (onTexts === undefined) throw new Error(`the function ${name}() is not supported`);
      return onTexts(...(values.length === 0 ? [[place.node]] : values).map(textOf));
    }
  }
}

function nameOf(node: Node | undefined): string {
  return node instanceof Element || node instanceof Attribute ? node.name : '';
}

function nodesOf(value: Value): readonly Node[] {
  if (Array.isArray(value)) return value;
  throw new Error('elements are expected where it has a value');
}

function isTrue(value: Value): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function numberOf(value: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  const text = textOf(value).trim();
  return text === '' ? Number.NaN : Number(text);
}

function textOf(value: Value): string {
  if (!Array.isArray(value)) return String(value);
  const [node] = value;
  if (node === undefined) return '';
  if (node instanceof Attribute) return node.owner.attribs[node.name] ?? '';
  return contentOf(node);
}

function contentOf(node: Node): string {
  if (node instanceof Text) return node.data;
  let text = '';
  for (const below of descendantsOf(node)) if (below instanceof Text) text += below.data;
  return text;
}
