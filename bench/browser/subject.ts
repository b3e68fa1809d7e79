import type { Task } from '../http/subject.ts';

/** The input of every program that is measured with a browser. */
export interface BrowserTask extends Task {
  /** The same program for all. */
  readonly chromium: { readonly path: string; readonly sandbox: boolean };
  /** Ours only: what each item has of its own, a context or a page. */
  readonly isolation: 'context' | 'page';
}

/** By this cookie the county knows that its disclaimer was accepted, which takes half a second of waiting. */
export function agreedCookie(url: string) {
  return { name: 'AGREED', value: '1', url };
}

export function profileUrl(url: string, apn: string): string {
  return `${url}/app/parcel?apn=${apn}`;
}
