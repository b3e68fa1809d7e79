/** A parsed XPath expression: the part of XPath 1.0 that recorders write. */
export type XPath =
  | { readonly kind: 'literal'; readonly value: string | number }
  | { readonly kind: 'binary'; readonly operator: BinaryOperator; readonly left: XPath; readonly right: XPath }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly XPath[] }
  | { readonly kind: 'path'; readonly from: XPath | 'root' | 'context'; readonly steps: readonly XPathStep[] }
  | { readonly kind: 'filter'; readonly of: XPath; readonly predicates: readonly XPath[] };

export type BinaryOperator = 'or' | 'and' | '=' | '!=' | '<' | '<=' | '>' | '>=' | '|';

export interface XPathStep {
  readonly axis: Axis;
  /** A tag or attribute name, `*`, `text()` or `node()`. */
  readonly test: string;
  readonly predicates: readonly XPath[];
}

const AXES = [
  'self',
  'child',
  'descendant',
  'descendant-or-self',
  'parent',
  'ancestor',
  'ancestor-or-self',
  'following-sibling',
  'preceding-sibling',
  'attribute',
] as const;
export type Axis = (typeof AXES)[number];

/** No recorder writes longer ones, and the parser calls itself. */
const MAX_LENGTH = 2000;
const MAX_DEPTH = 50;

const TOKEN =
  /\s*(?:(\/\/|::|\.\.|!=|<=|>=|[/()[\]@,|=<>.*])|"([^"]*)"|'([^']*)'|(\d+(?:\.\d+)?)|([A-Za-z_][\w.-]*(?::(?!:)[\w.-]+)?))/y;

type Token =
  | { readonly kind: 'sign'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'name'; readonly text: string };

/** Throws if the expression is not one, or uses what is not supported; the message says what. */
export function parseXPath(source: string): XPath {
  if (source.length > MAX_LENGTH) throw new Error(`it is longer than ${MAX_LENGTH} characters`);
  return new Parser(tokenize(source.trim())).parse();
}

function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < source.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(source);
    if (found === null) {
      if (source.slice(at).trim() === '') break;
      throw new Error(`unexpected ${JSON.stringify(source.slice(at, at + 10))}`);
    }
    const [, sign, double, single, number, name] = found;
    if (sign !== undefined) tokens.push({ kind: 'sign', text: sign });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else tokens.push({ kind: 'text', text: double ?? single ?? '' });
  }
  return tokens;
}

const COMPARISONS: readonly (readonly BinaryOperator[])[] = [['or'], ['and'], ['=', '!='], ['<', '<=', '>', '>=']];

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): XPath {
    const parsed = this.#binary(0);
    const rest = this.#tokens[this.#at];
    if (rest !== undefined) throw new Error(`unexpected "${rest.text}"`);
    return parsed;
  }

  #binary(level: number): XPath {
    const operators = COMPARISONS[level];
    if (operators === undefined) return this.#union();
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH * COMPARISONS.length) throw new Error('it is nested too deeply');
    let left = this.#binary(level + 1);
    for (let operator = this.#operator(operators); operator !== null; operator = this.#operator(operators)) {
      left = { kind: 'binary', operator, left, right: this.#binary(level + 1) };
    }
    this.#depth -= 1;
    return left;
  }

  #operator(operators: readonly BinaryOperator[]): BinaryOperator | null {
    const token = this.#tokens[this.#at];
    if (token === undefined || token.kind === 'text' || token.kind === 'number') return null;
    const operator = operators.find((each) => each === token.text) ?? null;
    if (operator !== null) this.#at += 1;
    return operator;
  }

  #union(): XPath {
    let left = this.#path();
    while (this.#take('|')) left = { kind: 'binary', operator: '|', left, right: this.#path() };
    return left;
  }

  #path(): XPath {
    if (this.#take('//')) return { kind: 'path', from: 'root', steps: [ANYWHERE, ...this.#steps()] };
    if (this.#take('/')) return { kind: 'path', from: 'root', steps: this.#startsStep() ? this.#steps() : [] };
    const primary = this.#primary();
    if (primary === null) return { kind: 'path', from: 'context', steps: this.#steps() };
    const predicates = this.#predicates();
    const from: XPath = predicates.length === 0 ? primary : { kind: 'filter', of: primary, predicates };
    if (this.#take('//')) return { kind: 'path', from, steps: [ANYWHERE, ...this.#steps()] };
    return this.#take('/') ? { kind: 'path', from, steps: this.#steps() } : from;
  }

  /** A literal, a call or an expression in brackets; null where a location path begins. */
  #primary(): XPath | null {
    const token = this.#next();
    if (token.kind === 'text' || token.kind === 'number') {
      this.#at += 1;
      return { kind: 'literal', value: token.kind === 'number' ? Number(token.text) : token.text };
    }
    if (this.#take('(')) {
      const inner = this.#binary(0);
      this.#expect(')');
      return inner;
    }
    const isCall = token.kind === 'name' && this.#isSign(1, '(') && token.text !== 'text' && token.text !== 'node';
    if (!isCall) return null;
    this.#at += 2;
    const args: XPath[] = [];
    if (!this.#take(')')) {
      do args.push(this.#binary(0));
      while (this.#take(','));
      this.#expect(')');
    }
    return { kind: 'call', name: token.text, args };
  }

  #steps(): XPathStep[] {
    const steps = [this.#step()];
    for (;;) {
      if (this.#take('//')) steps.push(ANYWHERE, this.#step());
      else if (this.#take('/')) steps.push(this.#step());
      else return steps;
    }
  }

  #step(): XPathStep {
    if (this.#take('..')) return { axis: 'parent', test: 'node()', predicates: [] };
    if (this.#take('.')) return { axis: 'self', test: 'node()', predicates: this.#predicates() };
    return { axis: this.#axis(), test: this.#test(), predicates: this.#predicates() };
  }

  #axis(): Axis {
    if (this.#take('@')) return 'attribute';
    if (!this.#isSign(1, '::')) return 'child';
    const { text } = this.#next();
    const axis = AXES.find((each) => each === text);
    if (axis === undefined) throw new Error(`the axis ${text}:: is not supported`);
    this.#at += 2;
    return axis;
  }

  #test(): string {
    const token = this.#next();
    this.#at += 1;
    if (token.kind === 'sign' && token.text === '*') return '*';
    if (token.kind !== 'name') throw new Error(`unexpected "${token.text}"`);
    if (!this.#take('(')) return token.text.toLowerCase();
    this.#expect(')');
    return `${token.text}()`;
  }

  #predicates(): XPath[] {
    const predicates: XPath[] = [];
    while (this.#take('[')) {
      predicates.push(this.#binary(0));
      this.#expect(']');
    }
    return predicates;
  }

  #startsStep(): boolean {
    const token = this.#tokens[this.#at];
    return token !== undefined && (token.kind === 'name' || ['*', '@', '.', '..'].includes(token.text));
  }

  #isSign(ahead: number, text: string): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.kind === 'sign' && token.text === text;
  }

  #take(text: string): boolean {
    if (!this.#isSign(0, text)) return false;
    this.#at += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new Error(`"${text}" is missing`);
  }

  #next(): Token {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Error('it ends too early');
    return token;
  }
}

const ANYWHERE: XPathStep = { axis: 'descendant-or-self', test: 'node()', predicates: [] };
