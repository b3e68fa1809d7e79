import type { Element } from 'domhandler';
import { findAll } from '../../extract/find.ts';
import type { Form } from '../../http/form.ts';
import { outermostForm } from '../../http/form-controls.ts';
import type { Page } from '../../http/page.ts';
import { TARGET_FIELD } from '../../http/postback.ts';

/** The forms of a page with what was filled in so far. */
export class PageForms {
  readonly #page: Page;
  readonly #forms = new Map<Element, Form<Page>>();

  constructor(page: Page) {
    this.#page = page;
  }

  /** The form of a control; null if it has none. */
  of(control: Element): Form<Page> | null {
    const { form: owner } = control.attribs;
    const element = owner === undefined ? outermostForm(control) : (this.#page.document.byId.get(owner) ?? null);
    return element === null ? null : this.#at(element);
  }

  /** The one that a postback sends: that of the element, or the one with the state of the page. */
  stateful(page: Page, element: Element): Form<Page> {
    const [state] = findAll(page.document, null, `[name="${TARGET_FIELD}"], [name="__VIEWSTATE"]`);
    const around = (state && outermostForm(state)) ?? outermostForm(element) ?? findAll(page.document, null, 'form')[0];
    if (around === undefined) throw page.missing('a form to post back');
    return this.#at(around);
  }

  /** As the page came. */
  reset(control: Element): void {
    const element = outermostForm(control);
    if (element !== null) this.#forms.delete(element);
  }

  #at(element: Element): Form<Page> {
    const known = this.#forms.get(element);
    if (known !== undefined) return known;
    const form = this.#page.formAt(element);
    this.#forms.set(element, form);
    return form;
  }
}
