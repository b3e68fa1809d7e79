import type { CheerioAPI } from 'cheerio';
import type { Element } from 'domhandler';
import { failure } from '../../domain/failure.ts';
import { findAll } from '../extract/find.ts';
import { parseHtml } from '../extract/parse-html.ts';
import { Reader } from '../extract/reader.ts';
import { explainAbsence } from '../page/classify.ts';
import { nothingFoundIn } from '../page/signs.ts';
import { fail, ScrapeFailure } from '../scrape-failure.ts';
import { Form } from './form.ts';
import { outermostForm } from './form-controls.ts';
import { postbackIn, TARGET_FIELD } from './postback.ts';
import { addressOn, type Requester } from './requester.ts';

interface PageFacts {
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetchedAt: number;
  readonly source: PageSource;
}

/** The body, decoded on first use. */
export interface PageSource {
  text(): string;
  charset(): string;
}

/** A page that came from the web just now, and from which one can go on. */
export class Page extends Reader {
  /** Where it came from, after all redirects. */
  override readonly url: string;
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly fetchedAt: number;
  readonly #source: PageSource;
  readonly #requester: Requester<Page>;
  #parsed: CheerioAPI | null = null;

  constructor({ url, status, headers, fetchedAt, source }: PageFacts, requester: Requester<Page>) {
    super();
    this.url = url;
    this.#source = source;
    this.status = status;
    this.headers = headers;
    this.fetchedAt = fetchedAt;
    this.#requester = requester;
  }

  /** The source, decoded. */
  get body(): string {
    return this.#source.text();
  }

  /** What it came in, as `windows-1252`. Its forms are sent in the same. */
  get charset(): string {
    return this.#source.charset();
  }

  /** Parsed on first use. */
  override get $(): CheerioAPI {
    this.#parsed ??= parseHtml(this.body);
    return this.#parsed;
  }

  /** The form that the selector finds, or that is around what it finds; without one, the only form. */
  form(selector?: string): Form<Page> {
    return new Form(this, this.#formElement(selector), this.#requester);
  }

  /** What a WebForms page does by `__doPostBack(target, argument)`. */
  async postback(target: string, argument = ''): Promise<Page> {
    const forms = this.#forms();
    const stateful = findAll(this.$, null, `[name="${TARGET_FIELD}"], [name="__VIEWSTATE"]`)[0];
    const element = (stateful && outermostForm(stateful)) ?? forms[0];
    if (element === undefined) throw this.missing('a form to post back');
    return new Form(this, element, this.#requester).postback({ target, argument });
  }

  /** Clicks on a link: goes where it leads, or does the postback behind it. */
  async follow(selector: string): Promise<Page> {
    const element = findAll(this.$, null, selector)[0];
    if (element === undefined) throw this.missing(selector);
    const { href = '', onclick = '' } = element.attribs;
    const postback = postbackIn(href) ?? postbackIn(onclick);
    if (postback !== null) return this.postback(postback.target, postback.argument);
    if (href.trim() === '') throw this.missing(`the attribute href of ${selector}`);
    const url = addressOn(this, href);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      return fail(
        'structure_changed',
        `${selector} leads to "${href.slice(0, 100)}", which is not a URL (${this.url})`,
      );
    }
    return this.#requester.open({ method: 'GET', url: url.href, content: null, from: this.url });
  }

  /** What the page says in place of what was looked for is a better answer than that it is not there. */
  protected override absent(what: string): ScrapeFailure {
    const explained = explainAbsence(this.body);
    if (explained === null) {
      const nothing = nothingFoundIn(this.body);
      return this.notOnPage(nothing === null ? what : `the page says "${nothing.sentence}" among much else; ${what}`);
    }
    return new ScrapeFailure(
      failure(explained.type, `${explained.said}, and ${what} is not on the page (${this.url})`),
    );
  }

  #formElement(selector: string | undefined): Element {
    if (selector !== undefined) {
      const found = findAll(this.$, null, selector)[0];
      if (found === undefined) throw this.missing(selector);
      return outermostForm(found) ?? fail('structure_changed', `${selector} is in no form (${this.url})`);
    }
    const [only, another] = this.#forms();
    if (only === undefined) throw this.missing('a form');
    if (another !== undefined) return fail('structure_changed', `the page has several forms: say which (${this.url})`);
    return only;
  }

  #forms(): Element[] {
    return findAll(this.$, null, 'form').filter((form) => outermostForm(form) === form);
  }
}
