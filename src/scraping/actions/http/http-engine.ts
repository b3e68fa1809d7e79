import type { Element } from 'domhandler';
import { passesUrl } from '../../../domain/recording/text-test.ts';
import type { WholePage } from '../../extract/whole-page.ts';
import type { HttpClient } from '../../http/http-client.ts';
import type { Page } from '../../http/page.ts';
import { addressOn } from '../../http/requester.ts';
import type { WebDocument } from '../../http/web-document.ts';
import { fail } from '../../scrape-failure.ts';
import {
  type Absence,
  type ActionEngine,
  type Downloaded,
  type DownloadSource,
  type Interaction,
  NeedsBrowser,
  NoMatch,
  type PageAction,
  type SeenResponse,
  type Sight,
  type TabChoice,
} from '../engine.ts';
import { isSeen } from '../page/find-elements.ts';
import { findWanted } from '../page/find-wanted.ts';
import { sentValue } from '../read-element.ts';
import type { Wanted } from '../wanted.ts';
import { fillControl, tickControl } from './fill-control.ts';
import { HttpPlace } from './http-place.ts';
import { type Click, readClick } from './read-click.ts';
import { readScript } from './script-effects.ts';

interface Found {
  readonly place: HttpPlace;
  readonly page: Page;
  readonly element: Element;
  readonly alternative: number;
}

/**
 * Carries actions out without a browser. What a step means is told from the page that it is on: a click on a link is a
 * request, a click on a submit button sends its form with what was filled in so far. Scripts are not run; what only one of
 * them could do is a NeedsBrowser.
 */
export class HttpEngine implements ActionEngine {
  readonly kind = 'http';
  readonly #http: HttpClient;
  readonly #tabs = [new HttpPlace()];
  #tab = this.#tabs[0] ?? new HttpPlace();
  /** How often a page has come. */
  #arrivals = 0;
  /** A document that a click has led to, to be fetched by a later step. */
  #awaiting: (() => Promise<WebDocument>) | null = null;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  url(): string {
    return this.#tab.url;
  }

  async goto(url: string): Promise<void> {
    const target = URL.parse(url, this.#tab.page?.url);
    if (target === null) fail('invalid_input', `"${url.slice(0, 200)}" is not an address`);
    this.#show(this.#tab, await this.#http.get(target.href));
  }

  async go(where: 'back' | 'forward' | 'reload'): Promise<void> {
    if (where === 'reload') this.#tab.replace(await this.#http.get(this.#tab.shown().url));
    else this.#tab.move(where === 'back' ? -1 : 1);
    this.#arrivals += 1;
  }

  async newTab(): Promise<void> {
    this.#openTab();
    this.#tab = this.#tabs.at(-1) ?? this.#tab;
  }

  async switchTab(to: TabChoice): Promise<void> {
    const found =
      to === 'first'
        ? this.#tabs[0]
        : to === 'latest'
          ? this.#tabs.at(-1)
          : typeof to === 'number'
            ? this.#tabs[to]
            : this.#tabs.find(({ url }) => passesUrl(to.url, url));
    this.#tab = found ?? fail('navigation_failed', 'there is no such tab');
  }

  async closeTab(): Promise<void> {
    const at = this.#tabs.indexOf(this.#tab);
    this.#tabs.splice(at, 1);
    this.#tab = this.#tabs[at - 1] ?? this.#tabs[0] ?? this.#openTab();
  }

  async interact(action: Interaction, wanted: Wanted): Promise<number> {
    const found = await this.#find(wanted);
    switch (action.type) {
      case 'click':
        if (action.button !== 'left') throw new NeedsBrowser('only scripts react to other mouse buttons');
        await this.#click(
          found,
          action.modifiers.some((key) => key === 'Control' || key === 'Meta'),
        );
        break;
      case 'press':
        await this.#press(found, action.key);
        break;
      case 'hover':
      case 'scroll':
        break;
      case 'drag':
        throw new NeedsBrowser('only scripts react to dragging');
      default:
        if (fillControl(found.place.forms, found.element, action)) await this.#changed(found);
    }
    return found.alternative;
  }

  async interactWithPage(action: PageAction): Promise<void> {
    if (action.type === 'press' && action.key !== 'Tab') {
      throw new NeedsBrowser('only a browser knows which element has the focus');
    }
  }

  async navigateBy<T>(action: () => Promise<T>): Promise<T> {
    const before = this.#arrivals;
    const done = await action();
    if (this.#arrivals === before) {
      fail('navigation_failed', `the step did not lead to another page (${this.url()})`);
    }
    return done;
  }

  answerDialogs(): void {
    // No script opens any.
  }

  async look(wanted: Wanted): Promise<Sight> {
    const place = await this.#tab.frame(wanted.frame, this.#http);
    return findWanted(place.shown(), wanted);
  }

  async page(frame: Wanted['frame']): Promise<WholePage> {
    return (await this.#tab.frame(frame, this.#http)).shown();
  }

  async isVisible(wanted: Wanted): Promise<boolean> {
    return (await this.look(wanted)).elements.some(isSeen);
  }

  async value(wanted: Wanted): Promise<string | null> {
    const place = await this.#tab.frame(wanted.frame, this.#http);
    const [element] = findWanted(place.shown(), wanted).elements;
    if (element === undefined) return null;
    const form = place.forms.of(element);
    const control = form?.controlAt(element) ?? null;
    switch (control?.kind) {
      case 'text':
      case 'checkbox':
      case 'radio':
        return control.value;
      case 'select':
        return control.options.find(({ selected }) => selected)?.value ?? '';
      default:
        return sentValue(element);
    }
  }

  async letChange(): Promise<boolean> {
    return false;
  }

  async waitForTime(): Promise<void> {
    // What has come does not change.
  }

  async waitForNetworkIdle(): Promise<void> {
    // A request has ended when its step has.
  }

  async waitForResponse(): Promise<SeenResponse> {
    throw new NeedsBrowser('the requests of a page are sent by its scripts');
  }

  async waitForDownload(): Promise<void> {
    if (this.#awaiting === null) fail('structure_changed', 'no step before has led to a document');
  }

  async waitForExpression(): Promise<void> {
    throw new NeedsBrowser('an expression is evaluated in a page');
  }

  async screenshot(): Promise<Uint8Array> {
    throw new NeedsBrowser('a picture needs a page that is drawn');
  }

  async pdf(): Promise<Uint8Array> {
    throw new NeedsBrowser('a PDF of a page needs a page that is drawn');
  }

  async download(source: DownloadSource, { optional }: { readonly optional: boolean }): Promise<Downloaded> {
    if (source.from === 'earlier') {
      const fetch = this.#awaiting ?? fail('structure_changed', 'no step before has led to a document');
      this.#awaiting = null;
      return { document: await fetch(), alternative: null };
    }
    if (source.from === 'address') {
      const url = new URL(source.url, this.#tab.page?.url).href;
      return { document: await this.#document(url, optional), alternative: null };
    }
    const sight = optional ? await this.look(source.wanted) : null;
    if (sight !== null && sight.alternative === null) return { document: null, alternative: null };
    const found = await this.#find(source.wanted);
    const click = readClick(found.page, found.element, found.place.forms);
    return { document: await this.#documentBy(click, found, optional), alternative: found.alternative };
  }

  async explainAbsence(): Promise<Absence | null> {
    return this.#tab.page?.explainAbsence() ?? null;
  }

  async #find(wanted: Wanted): Promise<Found> {
    const place = await this.#tab.frame(wanted.frame, this.#http);
    const page = place.shown();
    const { elements, alternative } = findWanted(page, wanted);
    const element = elements.find(isSeen) ?? elements[0];
    if (element === undefined || alternative === null) throw new NoMatch(wanted);
    return { place, page, element, alternative };
  }

  async #click(found: Found, inNewTab: boolean): Promise<void> {
    const { place, page, element } = found;
    const click = readClick(page, element, place.forms);
    switch (click.kind) {
      case 'link': {
        const target = click.isNewTab || inNewTab ? this.#openTab() : place;
        return this.#arrive(target, found, click, () => page.open(click.href, 'the link'));
      }
      case 'postback':
        return this.#arrive(place, found, click, () => click.form.postback(click.postback));
      case 'submit':
        for (const { field, value } of click.effects.assigned) click.form.assign(field, value);
        return this.#arrive(place, found, click, () => click.form.submit(click.button));
      case 'tick': {
        const { form, control } = click;
        tickControl(form, control, control.kind === 'radio' ? true : !control.checked);
        return this.#changed(found);
      }
      case 'reset':
        return place.forms.reset(click.element);
      case 'nothing':
        return;
    }
  }

  /** Enter in a field presses the first button of its form; on anything else it is a click. */
  async #press(found: Found, key: string): Promise<void> {
    if (key === 'Tab') return;
    if (key !== 'Enter') throw new NeedsBrowser('only scripts react to single keys');
    const form = found.place.forms.of(found.element);
    const control = form?.controlAt(found.element) ?? null;
    if (form === null || control?.kind !== 'text' || found.element.name === 'textarea')
      return this.#click(found, false);
    const button = form.defaultButton();
    if (button !== null) return this.#click({ ...found, element: button.element }, false);
    return this.#arrive(found.place, found, null, () => form.submit());
  }

  /** A control that sends its form when it is changed, as WebForms lists do. */
  async #changed(found: Found): Promise<void> {
    const { place, page, element } = found;
    const { onchange = '', onclick = '' } = element.attribs;
    const { postback, submits } = readScript(onchange === '' ? onclick : onchange);
    const form = place.forms.of(element);
    if (postback !== null) {
      await this.#arrive(place, found, null, () => place.forms.stateful(page, element).postback(postback));
    } else if (submits && form !== null) await this.#arrive(place, found, null, () => form.submit(null));
  }

  /** Shows what comes. A document is not shown: it waits for the step that keeps it. */
  async #arrive(place: HttpPlace, found: Found, click: Click | null, send: () => Promise<Page>): Promise<void> {
    const page = await send();
    if (click !== null && isDocument(page)) this.#awaiting = () => this.#documentBy(click, found, false).then(present);
    else this.#show(place, page);
  }

  #show(place: HttpPlace, page: Page): void {
    place.show(page);
    this.#arrivals += 1;
  }

  #openTab(): HttpPlace {
    const tab = new HttpPlace();
    if (this.#tabs.length >= MAX_TABS) fail('structure_changed', `more than ${MAX_TABS} tabs were opened`);
    this.#tabs.push(tab);
    return tab;
  }

  async #documentBy(click: Click, { page }: Found, optional: boolean): Promise<WebDocument | null> {
    switch (click.kind) {
      case 'link':
        return this.#document(
          addressOn(page, click.href)?.href ??
            fail('structure_changed', `the link leads to "${click.href.slice(0, 100)}"`),
          optional,
        );
      case 'postback':
        return optional ? click.form.document(click.postback, { optional }) : click.form.document(click.postback);
      case 'submit':
        for (const { field, value } of click.effects.assigned) click.form.assign(field, value);
        return optional ? click.form.document(click.button, { optional }) : click.form.document(click.button);
      default:
        throw new NeedsBrowser('a click there leads to no document without a script');
    }
  }

  #document(url: string, optional: boolean): Promise<WebDocument | null> {
    return optional ? this.#http.document(url, { optional }) : this.#http.document(url);
  }
}

const MAX_TABS = 20;

function isDocument({ headers }: Page): boolean {
  if (/^\s*attachment/i.test(headers['content-disposition'] ?? '')) return true;
  const type = headers['content-type'] ?? 'text/html';
  return !/html|xml|text\/plain|json/i.test(type);
}

function present(document: WebDocument | null): WebDocument {
  return document ?? fail('structure_changed', 'the document did not come');
}
