import type { Element } from 'domhandler';
import { findAll } from '../extract/find.ts';
import { fail } from '../scrape-failure.ts';
import type { AnswerOptions } from './answer-options.ts';
import { charsetOfForm, formCharset } from './form-charset.ts';
import { type ButtonControl, type Control, readControls } from './form-controls.ts';
import { type Entry, encodeBody, encodingNamed, entriesOf, urlEncoded } from './form-data.ts';
import { type FieldValue, fillControls, valueOfControls } from './form-fill.ts';
import { ARGUMENT_FIELD, type Postback, postbackIn, TARGET_FIELD } from './postback.ts';
import { addressOn, type FormPlace, type PageRequest, type Requester } from './requester.ts';
import type { DocumentOptions, OptionalDocument, WebDocument } from './web-document.ts';

/**
 * A form of a page, to be filled and submitted as a person would: it sends what a browser sends, including hidden
 * fields. Fields are found by name, by id, or by a selector, whichever matches first.
 */
export class Form<P> {
  readonly #place: FormPlace;
  readonly #element: Element;
  readonly #requester: Requester<P>;
  readonly #controls: readonly Control[];

  constructor(place: FormPlace, element: Element, requester: Requester<P>) {
    this.#place = place;
    this.#element = element;
    this.#requester = requester;
    this.#controls = readControls(place.$, element);
  }

  fill(values: Readonly<Record<string, FieldValue>>): this {
    for (const [key, value] of Object.entries(values)) {
      const fields = this.#fieldsFor(key);
      fillControls(key, fields, value);
      this.#releaseRadios(fields);
    }
    return this;
  }

  /** The control that an element of the page is; null if it is not one of this form. */
  controlAt(element: Element): Control | null {
    return this.#controls.find((control) => control.element === element) ?? null;
  }

  /** As `fill`, for one control. */
  fillControl(control: Control, value: FieldValue): void {
    const { id, name } = control.element.attribs;
    fillControls(id ?? name ?? control.element.name, [control], value);
    this.#releaseRadios([control]);
  }

  /** What a script of the page does to a field, by its name or id; a field that is not there is left alone. */
  assign(key: string, value: string): void {
    const field = this.#controls.find(
      ({ name, element, kind }) => kind === 'text' && [name, element.attribs['id']].includes(key),
    );
    if (field?.kind === 'text') field.value = value;
  }

  /** What Enter in a field presses; null if there is no such button, or it is disabled. */
  defaultButton(): ButtonControl | null {
    const first = this.#controls.find((control) => isButton(control) && control.kind !== 'button');
    return first !== undefined && isButton(first) && !first.disabled ? first : null;
  }

  /** What a field holds now; null where nothing is chosen. */
  value(key: string): string | null {
    return valueOfControls(this.#fieldsFor(key));
  }

  /**
   * Presses a button, found like a field or by its label; without one, the first: what Enter does in a field. Null: sends
   * the form as a script does, with no button pressed.
   */
  async submit(button?: string | ButtonControl | Postback | null, options: AnswerOptions = {}): Promise<P> {
    return this.#requester.open(await this.#pressing(button), options);
  }

  /** The same, for a document as the answer. */
  async document(
    button: string | ButtonControl | Postback | null | undefined,
    options: AnswerOptions & DocumentOptions & OptionalDocument,
  ): Promise<WebDocument | null>;
  async document(
    button?: string | ButtonControl | Postback | null,
    options?: AnswerOptions & DocumentOptions,
  ): Promise<WebDocument>;
  async document(
    button?: string | ButtonControl | Postback | null,
    options: AnswerOptions & DocumentOptions & Partial<OptionalDocument> = {},
  ): Promise<WebDocument | null> {
    const request = await this.#pressing(button);
    return options.optional === true
      ? this.#requester.downloadOptional(request, options)
      : this.#requester.download(request, options);
  }

  /** Does what `__doPostBack` of a WebForms page does: it sends everything but the buttons. */
  async postback(postback: Postback, options: AnswerOptions = {}): Promise<P> {
    return this.#requester.open(await this.#postingBack(postback), options);
  }

  async #pressing(button: string | ButtonControl | Postback | null | undefined): Promise<PageRequest> {
    if (button === null) return this.#request(entriesOf(this.#controls, null), null);
    if (button === undefined) {
      const usable = this.defaultButton();
      return this.#request(entriesOf(this.#controls, usable), usable);
    }
    const found = typeof button === 'string' ? this.#buttonFor(button) : button;
    if ('target' in found) return this.#postingBack(found);
    found.disabled = false;
    return this.#request(entriesOf(this.#controls, found), found);
  }

  async #postingBack({ target, argument }: Postback): Promise<PageRequest> {
    const sent = new Map([
      [TARGET_FIELD, target],
      [ARGUMENT_FIELD, argument],
    ]);
    const entries = entriesOf(this.#controls, null).map((entry): Entry => {
      const value = sent.get(entry[0]);
      sent.delete(entry[0]);
      return value === undefined ? entry : [entry[0], value];
    });
    return this.#request([...entries, ...sent], null);
  }

  async #request(entries: readonly Entry[], pressed: ButtonControl | null): Promise<PageRequest> {
    const own = this.#element.attribs;
    const over = pressed?.element.attribs ?? {};
    const action = (over['formaction'] ?? own['action'] ?? '').trim();
    // An empty one means the page itself, whatever its <base> says.
    const url = action === '' ? URL.parse(this.#place.url) : addressOn(this.#place, action);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      return fail(
        'structure_changed',
        `the form is sent to "${action.slice(0, 100)}", which is not a URL (${this.#place.url})`,
      );
    }
    const charset = await formCharset(charsetOfForm(own['accept-charset'], this.#place.charset));
    const method = (over['formmethod'] ?? own['method'] ?? 'get').trim().toLowerCase();
    if (method !== 'post') {
      url.search = urlEncoded(entries, charset);
      return { method: 'GET', url: url.href, content: null, from: this.#place.url };
    }
    const content = encodeBody(entries, encodingNamed(over['formenctype'] ?? own['enctype']), charset);
    return { method: 'POST', url: url.href, content, from: this.#place.url };
  }

  /** A radio button found by its id is one of several: the others of its group are released. */
  #releaseRadios(filled: readonly Control[]): void {
    const chosen = filled.find((control) => control.kind === 'radio' && control.checked);
    if (chosen === undefined) return;
    for (const control of this.#controls) {
      if (control.kind === 'radio' && control.name === chosen.name) control.checked = control === chosen;
    }
  }

  #fieldsFor(key: string): readonly Control[] {
    const found = this.#named(key);
    if (found.length === 0) throw this.#place.missing(`the field "${key}"`);
    return found;
  }

  /** By name, by id, by selector. */
  #named(key: string): readonly Control[] {
    const named = this.#controls.filter(({ name }) => name === key);
    if (named.length > 0) return named;
    const identified = this.#controls.filter(({ element }) => element.attribs['id'] === key);
    if (identified.length > 0) return identified;
    const matched = new Set(this.#matching(key));
    return this.#controls.filter(({ element }) => matched.has(element));
  }

  #buttonFor(key: string): ButtonControl | Postback {
    const found =
      this.#named(key).find(isButton) ??
      this.#controls.find((control) => isButton(control) && control.label !== '' && sameLabel(control.label, key));
    if (found !== undefined && isButton(found) && found.kind !== 'button') return found;
    // A link, or a button without its own function, works by a script; we support that of WebForms.
    const element =
      found?.element ?? this.#matching(key)[0] ?? this.#matching(`[id="${key.replaceAll(/["\\]/g, '\\$&')}"]`)[0];
    if (element === undefined) throw this.#place.missing(`the button "${key}"`);
    const { href = '', onclick = '' } = element.attribs;
    return postbackIn(href) ?? postbackIn(onclick) ?? fail('structure_changed', `"${key}" does not submit the form`);
  }

  /** A name such as `ctl00$btnGo` is not a selector, and matches nothing. */
  #matching(selector: string): readonly Element[] {
    try {
      return findAll(this.#place.document, null, selector);
    } catch {
      return [];
    }
  }
}

function isButton(control: Control): control is ButtonControl {
  return control.kind === 'submit' || control.kind === 'image' || control.kind === 'button';
}

function sameLabel(label: string, wanted: string): boolean {
  return label.toLowerCase() === wanted.replaceAll(/\s+/g, ' ').trim().toLowerCase();
}
