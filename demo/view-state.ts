import { createHmac, timingSafeEqual } from 'node:crypto';

/** The pages that have a form, and so a state of their own. */
export type FormPage = 'disclaimer' | 'search' | 'results';

/**
 * The hidden state of WebForms. It is signed for one session and one page: sent back by another visitor, or changed on
 * the way, it is refused, as the real thing does it.
 */
export interface ViewState {
  /** The hidden fields, ready to stand in a form. */
  fields(page: FormPage, sessionId: string): string;
  /** What is wrong with the state that came back; null for nothing. */
  refuse(form: URLSearchParams, pages: readonly FormPage[], sessionId: string): string | null;
}

const MAC_LENGTH = 32;
const GENERATORS: Readonly<Record<FormPage, string>> = {
  disclaimer: '4F2A1B90',
  search: 'C2EE9ABB',
  results: 'C2EE9ABB',
};
/** How large the state of a page is: a result list carries its rows around. */
const SIZES: Readonly<Record<FormPage, number>> = { disclaimer: 300, search: 1400, results: 2100 };

export function viewStateOf(secret: string): ViewState {
  const sign = (payload: string, sessionId: string) =>
    createHmac('sha256', secret).update(`${sessionId}\n${payload}`, 'latin1').digest();

  return {
    fields(page, sessionId) {
      const state = filler(`${page}|state|`, SIZES[page]);
      const events = filler(`${page}|events|`, SIZES[page] >> 2);
      return [
        hidden('__EVENTTARGET', ''),
        hidden('__EVENTARGUMENT', ''),
        hidden('__VIEWSTATE', encode(state, sign(state, sessionId))),
        hidden('__VIEWSTATEGENERATOR', GENERATORS[page]),
        hidden('__EVENTVALIDATION', encode(events, sign(events, sessionId))),
      ].join('\n');
    },
    refuse(form, pages, sessionId) {
      const state = decode(form.get('__VIEWSTATE') ?? '');
      const events = decode(form.get('__EVENTVALIDATION') ?? '');
      const isSigned = [state, events].every(
        (part) => part !== null && timingSafeEqual(part.mac, sign(part.payload, sessionId)),
      );
      if (!isSigned || state === null || events === null) {
        return 'Validation of viewstate MAC failed. If this application is hosted by a Web Farm or cluster, ensure that <machineKey> configuration specifies the same validationKey and validation algorithm.';
      }
      const isOf = (page: FormPage) =>
        state.payload.startsWith(`${page}|state|`) && events.payload.startsWith(`${page}|events|`);
      return pages.some(isOf) ? null : 'The state information is invalid for this page and might be corrupted.';
    },
  };
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" id="${name}" value="${value}" />`;
}

function encode(payload: string, mac: Buffer): string {
  return Buffer.concat([Buffer.from(payload, 'latin1'), mac]).toString('base64');
}

function decode(text: string): { payload: string; mac: Buffer } | null {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length < MAC_LENGTH) return null;
  const end = bytes.length - MAC_LENGTH;
  return { payload: bytes.toString('latin1', 0, end), mac: bytes.subarray(end) };
}

function filler(start: string, length: number): string {
  return start.padEnd(length, 'ctl00$cphMain$pnlSearch|Text|Visible|d__0|');
}
