import { Element } from 'domhandler';
import type { Form } from '../../http/form.ts';
import type { ButtonControl, CheckControl } from '../../http/form-controls.ts';
import type { Page } from '../../http/page.ts';
import type { Postback } from '../../http/postback.ts';
import { NeedsBrowser } from '../engine.ts';
import { labelsOf } from '../page/accessible.ts';
import type { PageForms } from './page-forms.ts';
import { readScript, type ScriptEffects } from './script-effects.ts';

/** What a click on an element does, told from the page that it is on. */
export type Click =
  | { readonly kind: 'link'; readonly href: string; readonly isNewTab: boolean }
  | { readonly kind: 'postback'; readonly form: Form<Page>; readonly postback: Postback }
  | {
      readonly kind: 'submit';
      readonly form: Form<Page>;
      readonly button: ButtonControl | null;
      readonly effects: ScriptEffects;
    }
  | { readonly kind: 'tick'; readonly form: Form<Page>; readonly control: CheckControl }
  | { readonly kind: 'reset'; readonly element: Element }
  /** The focus moves, and nothing else. */
  | { readonly kind: 'nothing' };

/** Throws NeedsBrowser for what only a script can tell. */
export function readClick(page: Page, clicked: Element, forms: PageForms): Click {
  const element = actingElement(clicked);
  if (element === null) throw new NeedsBrowser('only a script can react to a click on this element');
  const { name, attribs } = element;
  if (name === 'label') return clickOnLabel(page, element, forms);
  const effects = readScript(attribs['onclick'] ?? '');
  const form = forms.of(element);
  const control = form?.controlAt(element) ?? null;
  if (form !== null && control !== null) {
    if (control.kind === 'submit' || control.kind === 'image') {
      if (effects.postback !== null) return { kind: 'postback', form, postback: effects.postback };
      return { kind: 'submit', form, button: control, effects };
    }
    if (control.kind === 'checkbox' || control.kind === 'radio') return { kind: 'tick', form, control };
    if (control.kind !== 'button') return { kind: 'nothing' };
    if (attribs['type']?.toLowerCase() === 'reset') return { kind: 'reset', element };
  }
  return byScript(page, element, effects, forms) ?? byAddress(element);
}

/** The nearest element around it that does something by itself, or says by a script what it does. */
function actingElement(clicked: Element): Element | null {
  for (let node: Element['parent'] | Element = clicked; node !== null; node = node.parent) {
    if (!(node instanceof Element)) continue;
    if (ACTING.has(node.name) || (node.name === 'a' && node.attribs['href'] !== undefined)) return node;
    if (node.attribs['onclick'] !== undefined) return node;
  }
  return null;
}

const ACTING = new Set(['button', 'input', 'select', 'textarea', 'label', 'option', 'area', 'summary']);

function clickOnLabel(page: Page, label: Element, forms: PageForms): Click {
  const id = label.attribs['for'];
  const named = id === undefined ? undefined : page.document.byId.get(id);
  const control = named ?? page.$(label).find('input, select, textarea, button').get()[0];
  if (control === undefined || !labelsOf(page.document, control).includes(label)) return { kind: 'nothing' };
  return readClick(page, control, forms);
}

function byScript(page: Page, element: Element, effects: ScriptEffects, forms: PageForms): Click | null {
  const href = element.attribs['href'] ?? '';
  const inHref = /^\s*javascript:/i.test(href) ? readScript(decode(href)) : null;
  for (const { postback, address, opensWindow, submits } of inHref === null ? [effects] : [inHref, effects]) {
    if (postback !== null) return { kind: 'postback', form: forms.stateful(page, element), postback };
    if (address !== null) return { kind: 'link', href: address, isNewTab: opensWindow };
    const form = submits ? forms.of(element) : null;
    if (form !== null) return { kind: 'submit', form, button: null, effects };
  }
  return null;
}

function byAddress({ name, attribs }: Element): Click {
  const href = attribs['href']?.trim();
  if (href === undefined) {
    if (name === 'summary' || name === 'option') return { kind: 'nothing' };
    throw new NeedsBrowser('what a click does here is decided by a script');
  }
  if (/^javascript:/i.test(href)) throw new NeedsBrowser(`the link runs the script "${href.slice(0, 60)}"`);
  if (href === '' || href.startsWith('#')) {
    if (attribs['onclick'] !== undefined) throw new NeedsBrowser('the link runs a script');
    return { kind: 'nothing' };
  }
  return { kind: 'link', href, isNewTab: /^_blank$/i.test(attribs['target'] ?? '') };
}

function decode(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}
