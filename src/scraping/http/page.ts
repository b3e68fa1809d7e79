import type { Element } from 'domhandler';
import { findAll } from '../extract/find.ts';
import { JudgedReader } from '../judged-reader.ts';
import type { Arrival } from '../page/explain-absence.ts';
import type { CompiledSigns } from '../page/signs.ts';
import { fail } from '../scrape-failure.ts';
import type { AnswerOptions } from './answer-options.ts';
import { Form } from './form.ts';
import { outermostForm } from './form-controls.ts';
import { postbackIn, TARGET_FIELD } from './postback.ts';
import { addressOn, type PageRequest, type Requester } from './requester.ts';

interface PageFacts {
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetchedAt: number;
  readonly source: PageSource;
  readonly arrival: Arrival;
  /** The signs by which it was judged, and what it lacks is explained. */
  readonly signs: CompiledSigns;
}

/** The body, decoded on first use. */
export interface PageSource {
  text(): string;
  charset(): string;
}

/** A page that has just come from the web, and from which one can continue. */
export class Page extends JudgedReader {
  /** Where it came from, after all redirects. */
  override readonly url: string;
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly fetchedAt: number;
  readonly #source: PageSource;
  readonly #requester: Requester<Page>;

  constructor(facts: PageFacts, requester: Requester<Page>) {
    super(facts);
    this.url = facts.url;
    this.status = facts.status;
    this.headers = facts.headers;
    this.fetchedAt = facts.fetchedAt;
    this.#source = facts.source;
    this.#requester = requester;
  }

  /** The source, decoded. */
  override get body(): string {
    return this.#source.text();
  }

  /** Its charset, such as `windows-1252`. Its forms are sent in the same one. */
  get charset(): string {
    return this.#source.charset();
  }

  /** The form that the selector matches, or that contains the match; without a selector, the only form. */
  form(selector?: string): Form<Page> {
    return new Form(this, this.#formElement(selector), this.#requester);
  }

  /** What a WebForms page does by `__doPostBack(target, argument)`. */
  async postback(target: string, argument = '', options: AnswerOptions = {}): Promise<Page> {
    const forms = this.#forms();
    const stateful = findAll(this.document, null, `[name="${TARGET_FIELD}"], [name="__VIEWSTATE"]`)[0];
    const element = (stateful && outermostForm(stateful)) ?? forms[0];
    if (element === undefined) throw this.missing('a form to post back');
    return new Form(this, element, this.#requester).postback({ target, argument }, options);
  }

  /** Clicks on a link: goes to its address, or does its postback. */
  async follow(selector: string, options: AnswerOptions = {}): Promise<Page> {
    this.noteUse(selector);
    const element = findAll(this.document, null, selector)[0];
    if (element === undefined) throw this.missing(selector);
    const { href = '', onclick = '' } = element.attribs;
    const postback = postbackIn(href) ?? postbackIn(onclick);
    if (postback !== null) return this.postback(postback.target, postback.argument, options);
    if (href.trim() === '') throw this.missing(`the attribute href of ${selector}`);
    return this.#requester.open(this.#linkRequest(href, selector), options);
  }

  /** As `follow`, for an address that the page names. `what`: what names it, for messages. */
  async open(href: string, what: string, options: AnswerOptions = {}): Promise<Page> {
    return this.#requester.open(this.#linkRequest(href, what), options);
  }

  /** A form by its element. */
  formAt(element: Element): Form<Page> {
    return new Form(this, element, this.#requester);
  }

  #linkRequest(href: string, what: string): PageRequest {
    const url = addressOn(this, href);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      return fail('structure_changed', `${what} leads to "${href.slice(0, 100)}", which is not a URL (${this.url})`);
    }
    return { method: 'GET', url: url.href, content: null, from: this.url };
  }

  #formElement(selector: string | undefined): Element {
    if (selector !== undefined) {
      this.noteUse(selector);
      const found = findAll(this.document, null, selector)[0];
      if (found === undefined) throw this.missing(selector);
      return outermostForm(found) ?? fail('structure_changed', `${selector} is in no form (${this.url})`);
    }
    const [only, another] = this.#forms();
    if (only === undefined) throw this.missing('a form');
    if (another !== undefined) return fail('structure_changed', `the page has several forms: say which (${this.url})`);
    return only;
  }

  #forms(): Element[] {
    return findAll(this.document, null, 'form').filter((form) => outermostForm(form) === form);
  }
}
