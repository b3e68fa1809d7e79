import type { Element } from 'domhandler';
import { findAll } from '../../extract/find.ts';
import type { HttpClient } from '../../http/http-client.ts';
import type { Page } from '../../http/page.ts';
import { fail } from '../../scrape-failure.ts';
import { NoMatch } from '../engine.ts';
import { findElements } from '../page/find-elements.ts';
import type { Wanted } from '../wanted.ts';
import { PageForms } from './page-forms.ts';

/** Where pages are shown one after another: a tab, or a frame of a page. */
export class HttpPlace {
  readonly #pages: { readonly page: Page; readonly forms: PageForms; readonly frames: Map<Element, HttpPlace> }[] = [];
  #at = -1;

  /** Null before the first page. */
  get page(): Page | null {
    return this.#pages[this.#at]?.page ?? null;
  }

  get forms(): PageForms {
    const { forms } =
      this.#pages[this.#at] ?? fail('navigation_failed', 'there is no page yet: the recording must begin with goto');
    return forms;
  }

  get url(): string {
    return this.page?.url ?? 'about:blank';
  }

  /** The page that the recording is on. */
  shown(): Page {
    return this.page ?? fail('navigation_failed', 'there is no page yet: the recording must begin with goto');
  }

  /** Another page has come. What was ahead in the history is forgotten. */
  show(page: Page): void {
    this.#pages.splice(this.#at + 1);
    this.#pages.push({ page, forms: new PageForms(page), frames: new Map() });
    this.#at += 1;
  }

  /** The same place in the history, with a page that was asked for again. */
  replace(page: Page): void {
    this.#pages.splice(this.#at, 1, { page, forms: new PageForms(page), frames: new Map() });
  }

  /** What was shown before, or after that, as it was left. */
  move(by: -1 | 1): void {
    if (this.#pages[this.#at + by] === undefined) fail('navigation_failed', 'there is no such page in the history');
    this.#at += by;
  }

  /** A frame of the page; it is fetched when it is first asked for. */
  async frame(path: Wanted['frame'], http: HttpClient): Promise<HttpPlace> {
    const [step, ...rest] = path;
    if (step === undefined) return this;
    const page = this.shown();
    const document = page.document;
    const element =
      typeof step === 'number'
        ? findAll(document, null, 'iframe, frame')[step]
        : findElements({ page: document, root: null }, [step]).find(
            ({ name }) => name === 'iframe' || name === 'frame',
          );
    if (element === undefined) throw new NoMatch(NO_FRAME);
    const frames = this.#pages[this.#at]?.frames ?? new Map<Element, HttpPlace>();
    let place = frames.get(element);
    if (place === undefined) {
      place = new HttpPlace();
      const { src = '' } = element.attribs;
      if (src.trim() === '' || /^about:/i.test(src)) fail('structure_changed', 'the frame has no address');
      place.show(await http.get(new URL(src, page.url).href));
      frames.set(element, place);
    }
    return place.frame(rest, http);
  }
}

const NO_FRAME: Wanted = { alternatives: [[]], nth: null, frame: [], within: null, described: 'the frame' };
