import { SCANNED_LENGTH } from './signs.ts';

/** Longer tags are cut: what matters of one is near its beginning. */
const LONGEST_TAG = 2000;

/**
 * Whether a page has a form that a person can fill or send, roughly and without parsing. WebForms put every page into a
 * form, including maintenance pages, so hidden fields alone do not count.
 */
export function hasForm(page: string): boolean {
  const source = page.slice(0, 4 * SCANNED_LENGTH).toLowerCase();
  const form = source.search(/<form[\s>]/);
  if (form < 0) return false;
  const control = /<(?:input|select|textarea|button)(?=[\s/>])/g;
  control.lastIndex = form;
  for (let found = control.exec(source); found !== null; found = control.exec(source)) {
    const end = source.indexOf('>', found.index);
    const tag = source.slice(found.index, Math.min(end < 0 ? source.length : end, found.index + LONGEST_TAG));
    if (!/\stype\s*=\s*["']?hidden\b/.test(tag)) return true;
    if (end < 0) return false;
  }
  return false;
}
