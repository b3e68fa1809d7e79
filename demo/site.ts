import { type Answer, htmlAnswer, jsonAnswer, pdfAnswer, redirectAnswer } from './answer.ts';
import { numberOf, startingWith } from './apn.ts';
import { answerApp } from './app.ts';
import { billDocument } from './bill-document.ts';
import type { PageKind } from './faults.ts';
import { appPage } from './pages/app.ts';
import { detailPage } from './pages/detail.ts';
import { disclaimerPage } from './pages/disclaimer.ts';
import { homePage } from './pages/home.ts';
import { resultsPage } from './pages/results.ts';
import { SEARCH_PATH, searchPage } from './pages/search.ts';
import { notFoundPage, serverErrorPage } from './pages/trouble.ts';
import { ownerOf, parcelOf } from './parcels.ts';
import { readCookies, SESSION_COOKIE, type Session, Sessions } from './sessions.ts';
import { CURRENT_YEAR } from './tax-districts.ts';
import { viewStateOf } from './view-state.ts';

/** A request as far as the pages care. */
export interface SiteRequest {
  readonly method: 'GET' | 'POST';
  /** Without the query, in small letters: the site comes from a system that does not tell them apart. */
  readonly path: string;
  readonly query: string;
  readonly cookie: string | undefined;
  /** Null for a GET. */
  readonly form: URLSearchParams | null;
}

export interface Site {
  readonly sessions: number;
  /** `isNeighbour`: shows the parcel next door instead of the one that was asked for. */
  answer(page: PageKind, request: SiteRequest, isNeighbour: boolean): Answer;
}

export interface SiteOptions {
  readonly parcels: number;
  readonly seed: number;
  readonly sessions: number;
  /** Signs the view state. */
  readonly secret: string;
}

const PROFILE_PATH = '/Datalets/Datalet.aspx?mode=profile';
const PARCEL = '/parcel/';
const MOST_ROWS = 25;
/** A search by name looks at so many parcels: there is no index, and the site must not stand still. */
const OWNERS_SEARCHED = 2000;

export function pageOf({ path, form }: SiteRequest): PageKind {
  if (path.startsWith(PARCEL)) return 'parcel';
  if (path.startsWith('/api/')) return 'api';
  switch (path) {
    case '/':
      return 'home';
    case '/search/disclaimer.aspx':
      return 'disclaimer';
    case '/search/commonsearch.aspx':
      if (form === null) return 'search';
      return form.get('__EVENTTARGET')?.endsWith('$lnkSelect') ? 'select' : 'results';
    case '/datalets/datalet.aspx':
      return 'detail';
    case '/bills/bill.aspx':
      return 'bill';
    case '/json':
      return 'json';
    case '/app':
    case '/app/parcel':
      return 'app';
    default:
      return 'other';
  }
}

export function openSite({ parcels, seed, sessions: mostSessions, secret }: SiteOptions): Site {
  const sessions = new Sessions(mostSessions);
  const viewState = viewStateOf(secret);
  const home = homePage(parcels);
  const missing = htmlAnswer(404, notFoundPage());

  /** The session of a visitor, and the header that tells him of a new one. */
  function sessionOf(cookies: ReadonlyMap<string, string>): { session: Session; headers: Answer['headers'] } {
    const known = sessions.find(cookies.get(SESSION_COOKIE));
    if (known !== null) return { session: known, headers: {} };
    const session = sessions.open();
    return { session, headers: { 'Set-Cookie': `${SESSION_COOKIE}=${session.id}; path=/; HttpOnly; SameSite=Lax` } };
  }

  function disclaimer({ query, cookie, form }: SiteRequest): Answer {
    const fromUrl = localPath(new URLSearchParams(query).get('FromUrl'));
    const { session, headers } = sessionOf(readCookies(cookie));
    if (form === null)
      return htmlAnswer(200, disclaimerPage(fromUrl, viewState.fields('disclaimer', session.id)), headers);
    const refusal = viewState.refuse(form, ['disclaimer'], session.id);
    if (refusal !== null) return htmlAnswer(500, serverErrorPage(refusal), headers);
    if (!form.has('btAgree')) return redirectAnswer('/');
    return redirectAnswer(fromUrl, { 'Set-Cookie': 'DISCLAIMER=1; path=/' });
  }

  function search({ path, query, cookie, form }: SiteRequest): Answer {
    const cookies = readCookies(cookie);
    if (cookies.get('DISCLAIMER') !== '1') {
      const from = encodeURIComponent(query === '' ? path : `${path}?${query}`);
      return redirectAnswer(`/Search/Disclaimer.aspx?FromUrl=${from}`);
    }
    const { session, headers } = sessionOf(cookies);
    if (form === null) return htmlAnswer(200, searchPage(viewState.fields('search', session.id), false), headers);
    const isSelect = form.get('__EVENTTARGET')?.endsWith('$lnkSelect') ?? false;
    const refusal = viewState.refuse(form, isSelect ? ['results'] : ['search', 'results'], session.id);
    if (refusal !== null) return htmlAnswer(500, serverErrorPage(refusal), headers);
    if (isSelect) return select(session, form.get('__EVENTARGUMENT') ?? '');
    const isAsked = form.get('hdAction') === 'Search';
    session.results = isAsked ? find(form.get('inpParid') ?? '', form.get('inpOwner') ?? '') : [];
    if (session.results.length === 0) {
      return htmlAnswer(200, searchPage(viewState.fields('search', session.id), isAsked), headers);
    }
    const found = session.results.map((n) => parcelOf(seed, n));
    return htmlAnswer(200, resultsPage(found, viewState.fields('results', session.id)), headers);
  }

  function select(session: Session, argument: string): Answer {
    const chosen = /^\d{1,3}$/.test(argument) ? session.results[Number(argument)] : undefined;
    if (chosen === undefined) return htmlAnswer(500, serverErrorPage('Invalid postback or callback argument.'));
    session.chosen = chosen;
    return redirectAnswer(PROFILE_PATH);
  }

  function find(apn: string, owner: string): number[] {
    if (apn.trim() !== '') return startingWith(apn, parcels, MOST_ROWS);
    const wanted = owner.trim().toUpperCase();
    const found: number[] = [];
    if (wanted === '') return found;
    for (let n = 0; n < Math.min(parcels, OWNERS_SEARCHED) && found.length < MOST_ROWS; n += 1) {
      if (ownerOf(seed, n).owner.startsWith(wanted)) found.push(n);
    }
    return found;
  }

  /** A page of the session's parcel; a visitor who has not chosen one is sent to the search. */
  function chosen({ cookie }: SiteRequest, isNeighbour: boolean, show: (n: number) => Answer): Answer {
    const session = sessions.find(readCookies(cookie).get(SESSION_COOKIE));
    if (session === null || session.chosen === null) return redirectAnswer(SEARCH_PATH);
    return show(isNeighbour ? neighbourOf(session.chosen) : session.chosen);
  }

  function bill(n: number, query: string): Answer {
    const year = Number(new URLSearchParams(query).get('year') ?? CURRENT_YEAR);
    const parcel = parcelOf(seed, n);
    const document = billDocument(parcel, year);
    return document === null ? missing : pdfAnswer(`${parcel.apn}-${year}.pdf`, document);
  }

  function direct(path: string, isNeighbour: boolean): Answer {
    const n = numberOf(path.slice(PARCEL.length));
    if (n === null || n >= parcels) return missing;
    return htmlAnswer(200, detailPage(parcelOf(seed, isNeighbour ? neighbourOf(n) : n), false));
  }

  return {
    get sessions() {
      return sessions.size;
    },
    answer(page, request, isNeighbour) {
      switch (page) {
        case 'parcel':
          return direct(request.path, isNeighbour);
        case 'home':
          return htmlAnswer(200, home);
        case 'disclaimer':
          return disclaimer(request);
        case 'search':
        case 'results':
        case 'select':
          return search(request);
        case 'detail':
          return chosen(request, isNeighbour, (n) => htmlAnswer(200, detailPage(parcelOf(seed, n), true)));
        case 'bill':
          return chosen(request, isNeighbour, (n) => bill(n, request.query));
        case 'json':
          return jsonAnswer(200, { args: Object.fromEntries(new URLSearchParams(request.query)), url: request.path });
        case 'app':
          return htmlAnswer(200, appPage());
        case 'api':
          return answerApp(request, { seed, parcels, isNeighbour });
        case 'other':
          return missing;
      }
    },
  };
}

function neighbourOf(n: number): number {
  return n === 0 ? 1 : n - 1;
}

/** Where the disclaimer leads back to: a place on this site, whatever the address says. */
function localPath(from: string | null): string {
  return from !== null && /^\/[\w.?=&/-]*$/.test(from) && !from.startsWith('//') ? from : SEARCH_PATH;
}
