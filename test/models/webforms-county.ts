import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { PAPER, writePdf } from '../../demo/pdf.ts';
import { randomOf } from '../../demo/random.ts';
import * as pages from './webforms-county-pages.ts';
import { fateOf, numberOf, type Parcel, parcelOf, parcelsOf } from './webforms-county-parcels.ts';

export interface WebFormsCounty {
  readonly url: string;
  /** How many requests were answered, and how many of them with a 503. */
  readonly counts: { readonly requests: number; readonly unavailable: number };
  close(): Promise<void>;
}

interface Session {
  readonly id: string;
  hasAgreed: boolean;
  /** View state of the page sent last: every page makes the one before it stale. */
  state: string;
  results: readonly Parcel[];
  asked: number;
  chosen: Parcel | null;
}

interface Reply {
  readonly status?: number;
  readonly location?: string;
  readonly body?: string | Buffer;
}

/**
 * A county on WebForms as they are: windows-1252, a consent page, a session that holds the chosen parcel, view state, and bills
 * as PDF. `unavailable` is the share of requests that get a 503, by their number and the seed.
 */
export async function startWebFormsCounty(faults: {
  readonly seed: number;
  readonly unavailable: number;
}): Promise<WebFormsCounty> {
  const sessions = new Map<string, Session>();
  const lostOnce = new Set<number>();
  const counts = { requests: 0, unavailable: 0 };

  const server = createServer((request, response) => {
    counts.requests += 1;
    if (randomOf(faults.seed, counts.requests, 0)() < faults.unavailable) {
      counts.unavailable += 1;
      response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>Service Unavailable</h1>');
      return;
    }
    void answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://county');
    const session = sessionOf(request, response);
    const form = request.method === 'POST' ? readForm(await buffer(request)) : null;
    send(response, form === null ? show(url, session) : post(url.pathname, form, session));
  }

  function sessionOf(request: IncomingMessage, response: ServerResponse): Session {
    const known = sessions.get(/ASP\.NET_SessionId=(\w+)/.exec(request.headers.cookie ?? '')?.[1] ?? '');
    if (known !== undefined) return known;
    const id = `s${sessions.size + 1}`;
    const session = { id, hasAgreed: false, state: '', results: [], asked: -1, chosen: null };
    sessions.set(id, session);
    response.setHeader('set-cookie', `ASP.NET_SessionId=${id}; path=/; HttpOnly`);
    return session;
  }

  function show(url: URL, session: Session): Reply {
    if (url.pathname === '/Disclaimer.aspx') return { body: pages.disclaimerPage(nextState(session)) };
    if (!session.hasAgreed) return { status: 302, location: '/Disclaimer.aspx' };
    if (url.pathname === '/Search.aspx') return { body: pages.searchPage(nextState(session)) };
    if (url.pathname === '/Detail.aspx' && session.chosen !== null) return detail(session.chosen);
    if (url.pathname === '/Bill.aspx' && session.chosen !== null)
      return bill(session.chosen, url.searchParams.get('id'));
    return { status: 404 };
  }

  function post(path: string, form: ReadonlyMap<string, string>, session: Session): Reply {
    if (form.get('__VIEWSTATE') !== session.state) return { status: 500, body: pages.STALE_STATE };
    if (path === '/Disclaimer.aspx') {
      session.hasAgreed = form.has('btnAgree');
      return { status: 302, location: '/Search.aspx' };
    }
    if (!session.hasAgreed) return { status: 302, location: '/Disclaimer.aspx' };
    return form.has('btnSearch') ? search(form, session) : choose(form.get('__EVENTARGUMENT') ?? '', session);
  }

  function search(form: ReadonlyMap<string, string>, session: Session): Reply {
    const asked = numberOf(form.get('txtParid') ?? '');
    const found = parcelsOf(form.get('txtOwner') ?? '');
    const fate = fateOf(asked);
    if (fate === 'unknown' || !found.some(({ parid }) => parid === form.get('txtParid'))) {
      return { body: pages.searchPage(nextState(session), pages.NOTHING_FOUND) };
    }
    const isLost = fate === 'loses every session' || (fate === 'loses its session once' && !lostOnce.has(asked));
    lostOnce.add(asked);
    if (isLost) {
      session.hasAgreed = false;
      return { status: 302, location: '/Disclaimer.aspx' };
    }
    session.results = found;
    session.asked = asked;
    return { body: pages.listPage(nextState(session), found) };
  }

  function choose(argument: string, session: Session): Reply {
    const chosen = session.results[Number(/^Select\$(\d+)$/.exec(argument)?.[1] ?? -1)];
    if (chosen === undefined) return { status: 500 };
    session.chosen = chosen;
    return { status: 302, location: '/Detail.aspx' };
  }

  function detail(chosen: Parcel): Reply {
    const number = numberOf(chosen.parid);
    switch (fateOf(number)) {
      case 'is gone':
        return { status: 410 };
      case 'is broken':
        return { status: 500, body: '<h1>Server Error in / Application.</h1>' };
      case 'is closed for maintenance':
        return { body: pages.closedPage() };
      case 'shows another parcel':
        return { body: pages.detailPage(parcelOf(number + 1), 'old') };
      case 'has a new layout':
        return { body: pages.detailPage(chosen, 'new') };
      default:
        return { body: pages.detailPage(chosen, 'old') };
    }
  }

  function bill(chosen: Parcel, id: string | null): Reply {
    const known = chosen.bills.some((each) => each.id === id);
    if (!known || fateOf(numberOf(chosen.parid)) === 'has no bill') return { body: pages.noBillPage() };
    const text = { kind: 'text', x: 54, y: PAPER.height - 54, size: 12, font: 'regular', text: `Bill ${id}` } as const;
    return { body: writePdf(`Bill ${id}`, [{ marks: [text] }]) };
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

let states = 0;

function nextState(session: Session): string {
  states += 1;
  session.state = `/wEPDwUK${session.id}${states}`;
  return session.state;
}

function send(response: ServerResponse, { status = 200, location, body = '' }: Reply): void {
  const isDocument = typeof body !== 'string';
  // The charset is in the pages alone, as with many sites of that time.
  response.setHeader('content-type', isDocument ? 'application/pdf' : 'text/html');
  if (location !== undefined) response.setHeader('location', location);
  response.writeHead(status).end(isDocument ? body : toWindows1252(body));
}

const WINDOWS_1252 = new TextDecoder('windows-1252');
const BYTES = new Map(
  [...WINDOWS_1252.decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))].map((letter, byte) => [letter, byte]),
);

function toWindows1252(text: string): Buffer {
  return Buffer.from([...text].map((letter) => BYTES.get(letter) ?? 0x3f));
}

/** Whatever comes is read as windows-1252: a name in UTF-8 is another name. */
function readForm(body: Buffer): ReadonlyMap<string, string> {
  const decode = (text: string) => {
    const bytes = text
      .replaceAll('+', ' ')
      .replaceAll(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
    return WINDOWS_1252.decode(Buffer.from(bytes, 'latin1'));
  };
  const pairs = body
    .toString('latin1')
    .split('&')
    .map((pair) => pair.split('='));
  return new Map(pairs.map(([name = '', value = '']) => [decode(name), decode(value)]));
}
