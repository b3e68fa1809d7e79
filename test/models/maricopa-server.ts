import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as pages from './maricopa-pages.ts';

/** What the site does when it is asked for a parcel; `good` for those that are not named. */
export type Behaviour =
  | 'good'
  | 'list layout'
  | 'shows the search form first'
  | 'view state stale once'
  | 'view state always stale'
  | 'nothing found'
  | 'another parcel'
  | 'block page behind 200'
  | 'challenge 403'
  | 'maintenance behind 200'
  | 'maintenance 503'
  | 'rate limited 429'
  | 'overloaded 503 with Retry-After'
  | 'server error 500'
  | 'never answers'
  | 'resets the connection'
  | 'page is gone'
  | 'ids renamed'
  | 'impossible tax year'
  | 'endless page'
  | 'redirects to the metadata service'
  | 'redirects to another site';

export interface MaricopaServer {
  readonly url: string;
  /** How often a parcel was asked for by its link. */
  visits(apn: string): number;
  close(): Promise<void>;
}

type Reply =
  | { readonly status: number; readonly html: string; readonly headers: Record<string, string> }
  | 'nothing'
  | 'reset'
  | 'endless';

interface Session {
  readonly viewState: string;
  parcel: string | null;
}

/** A server that behaves like the treasurer's: the parcel is held in the session, and pages come without parameters. */
export async function startMaricopa(behaviours: Readonly<Record<string, Behaviour>>): Promise<MaricopaServer> {
  const sessions = new Map<string, Session>();
  const visits = new Map<string, number>();
  const staleOnce = new Set<string>();
  const behaviourOf = (apn: string): Behaviour => behaviours[apn] ?? 'good';

  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = sessionOf(request, response);
    const given = request.method === 'POST' ? search(await bodyOf(request), session) : page(request, session);
    switch (given) {
      case 'nothing':
        return;
      case 'reset':
        response.socket?.resetAndDestroy();
        return;
      case 'endless':
        endless(response);
        return;
      default:
        response.writeHead(given.status, { 'content-type': 'text/html; charset=utf-8', ...given.headers });
        response.end(given.html);
    }
  }

  function page(request: IncomingMessage, session: Session): Reply {
    const url = new URL(request.url ?? '/', 'http://treasurer.maricopa.gov');
    switch (url.pathname) {
      case '/Parcel':
        return choose(withDashes(url.searchParams.get('Parcel') ?? ''), session);
      case '/Parcel/Summary.aspx':
        return summary(session);
      case '/Parcel/DetailedTaxStatement.aspx':
        return statement(session);
      default:
        return reply(404, '<h1>404 - File or directory not found.</h1>');
    }
  }

  function sessionOf(request: IncomingMessage, response: ServerResponse): Session {
    const id = /ASP\.NET_SessionId=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '';
    const known = sessions.get(id);
    if (known) return known;
    const fresh: Session = { viewState: randomUUID(), parcel: null };
    const name = randomUUID();
    sessions.set(name, fresh);
    response.setHeader('set-cookie', `ASP.NET_SessionId=${name}; path=/; HttpOnly; Secure; SameSite=Lax`);
    return fresh;
  }

  function choose(apn: string, session: Session): Reply {
    visits.set(apn, (visits.get(apn) ?? 0) + 1);
    switch (behaviourOf(apn)) {
      case 'shows the search form first':
      case 'view state stale once':
      case 'view state always stale':
        return reply(200, pages.searchPage(session.viewState));
      case 'nothing found':
        return reply(200, pages.NOTHING_FOUND);
      case 'block page behind 200':
        return reply(200, pages.BLOCKED_BEHIND_200);
      case 'challenge 403':
        return reply(403, pages.CHALLENGE, { 'cf-mitigated': 'challenge' });
      case 'maintenance behind 200':
        return reply(200, pages.MAINTENANCE);
      case 'maintenance 503':
        return reply(503, pages.MAINTENANCE);
      case 'rate limited 429':
        return reply(429, 'Too many requests', { 'retry-after': '1' });
      case 'overloaded 503 with Retry-After':
        return reply(503, 'Busy', { 'retry-after': '1' });
      case 'server error 500':
        return reply(500, '<h1>Server Error in / Application.</h1>');
      case 'never answers':
        return 'nothing';
      case 'resets the connection':
        return 'reset';
      case 'page is gone':
        return reply(410, '<h1>Gone</h1>');
      case 'endless page':
        return 'endless';
      case 'redirects to the metadata service':
        return reply(302, '', { location: 'http://169.254.169.254/latest/meta-data/' });
      case 'redirects to another site':
        return reply(302, '', { location: 'https://login.example.com/' });
      default:
        session.parcel = apn;
        return reply(302, '', { location: '/Parcel/Summary.aspx' });
    }
  }

  function search(form: URLSearchParams, session: Session): Reply {
    const part = (name: string) => form.get(`ctl00$txtParcelNum${name}`) ?? '';
    const apn = `${part('Book')}-${part('Map')}-${part('Item')}${part('Split')}`;
    const behaviour = behaviourOf(apn);
    const isStale =
      behaviour === 'view state always stale' || (behaviour === 'view state stale once' && !staleOnce.has(apn));
    staleOnce.add(apn);
    if (isStale || form.get('__VIEWSTATE') !== session.viewState || form.get('ctl00$btnGo') !== 'Go') {
      return reply(500, pages.STALE_STATE);
    }
    session.parcel = apn;
    return reply(302, '', { location: '/Parcel/Summary.aspx' });
  }

  function summary({ parcel }: Session): Reply {
    if (parcel === null) return reply(302, '', { location: '/' });
    const layout = behaviourOf(parcel) === 'list layout' ? 'list' : 'table';
    return reply(200, pages.summaryPage(parcelOf(parcel), layout));
  }

  function statement({ parcel }: Session): Reply {
    if (parcel === null) return reply(200, pages.NOTHING_FOUND);
    const behaviour = behaviourOf(parcel);
    if (behaviour === 'another parcel') return reply(200, pages.statementPage(parcelOf('999-99-999')));
    if (behaviour === 'impossible tax year') {
      return reply(200, pages.statementPage({ ...parcelOf(parcel), year: 0 }));
    }
    return reply(200, pages.statementPage(parcelOf(parcel), behaviour === 'ids renamed' ? 'renamed' : 'as ever'));
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    visits: (apn) => visits.get(apn) ?? 0,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function parcelOf(apn: string): pages.Parcel {
  const digits = Number(apn.replaceAll(/\D/g, ''));
  return { apn, owner: `OWNER OF ${apn} TRUST`, year: 2025, totalTax: `$1,${String(100 + (digits % 900))}.60` };
}

function withDashes(digits: string): string {
  return `${digits.slice(0, 3)}-${digits.slice(3, 5)}-${digits.slice(5)}`;
}

async function bodyOf(request: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return new URLSearchParams(text);
}

function reply(status: number, html: string, headers: Record<string, string> = {}): Reply {
  return { status, html, headers };
}

/** As fast as the reader takes it, until the connection is closed. */
function endless(response: ServerResponse): void {
  const chunk = '<p>more</p>'.repeat(100_000);
  response.writeHead(200, { 'content-type': 'text/html' });
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', more);
  more();
}
