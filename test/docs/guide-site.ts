import { type ModelReply, type ModelRequest, type ModelServer, startModel } from '../models/model-server.ts';

/** The county of the guides: a JSON API, parcels on several pages, and a part that needs a login. */

export const PASSWORD = 'correct horse battery';

const PARCELS_PER_ANSWER = 50;

/** A login expires after this many pages. */
const PAGES_PER_LOGIN = 2;

/** This page is out of order for as long as an item is tried by itself. */
const BROKEN = '/parcel/101-01-102';
const TRIES = 4;

/** A parcel of the county: 120 of them belong to SMITH. */
function ownedBy(owner: string): readonly { apn: string; owner: string }[] {
  const count = owner === 'SMITH' ? 120 : 0;
  return Array.from({ length: count }, (_, index) => ({
    apn: `101-01-${100 + index}`,
    owner: `${owner} ${index + 1}`,
  }));
}

export async function startGuideSite(): Promise<ModelServer> {
  const logins: number[] = [];
  let outages = 0;
  return startModel('guides', (request) => {
    const { pathname } = request.url;
    if (pathname === BROKEN && outages < TRIES) {
      outages += 1;
      return html('<h1>Internal error</h1>', 500);
    }
    if (pathname === '/search' || pathname === '/parcel') return treasurer(request);
    if (pathname === '/api/search') return search(request);
    if (pathname === '/api/graphql') return graphql(request);
    const [, what = '', apn = ''] = /^\/(parcel|taxes|api\/sales|bill)\/([\d-]+)$/.exec(pathname) ?? [];
    switch (what) {
      case 'parcel':
        return html(`<h1>Parcel ${apn}</h1><p id="owner">SMITH 1</p><a class="taxes" href="/taxes/${apn}">Taxes</a>`);
      case 'taxes':
        return html(`<h1>Taxes of ${apn}</h1><p id="total">$1,204.50</p><a class="bill" href="/bill/${apn}">Bill</a>`);
      case 'api/sales':
        return json({ apn, sales: [{ date: '2019-05-02', price: 210_000 }] });
      case 'bill':
        return { headers: { 'content-type': 'application/pdf' }, body: '%PDF-1.4\n%%EOF\n' };
      default:
        return members(request, logins);
    }
  });
}

/** The treasurer of the smallest examples: a search form, and a statement by address or by form. */
function treasurer({ method, url, body }: ModelRequest): ModelReply {
  if (url.pathname === '/search' && method === 'GET') {
    return html('<form id="search" method="post"><input name="parcel"><button>Search</button></form>');
  }
  const apn = url.searchParams.get('apn') ?? new URLSearchParams(body).get('parcel');
  return html(`<h1>Detailed Tax Statement</h1><p id="apn">${apn}</p><p id="parcel">${apn}</p>
    <p id="owner">SMITH JOHN</p><p id="total">$1,204.50</p><p id="total-tax">$1,204.50</p>`);
}

function search({ method, body }: ModelRequest): ModelReply {
  if (method !== 'POST') return json({ error: 'use POST' }, 405);
  const { owner, cursor = '0' } = JSON.parse(body) as { owner: string; cursor?: string };
  const all = ownedBy(owner);
  const next = Number(cursor) + PARCELS_PER_ANSWER;
  const parcels = all.slice(Number(cursor), next);
  return json({ total: all.length, parcels, next: next < all.length ? String(next) : null });
}

function graphql({ body }: ModelRequest): ModelReply {
  const { variables } = JSON.parse(body) as { variables: { apn: string } };
  if (variables.apn === '000') return json({ data: null, errors: [{ message: 'no such parcel' }] });
  return json({ data: { parcel: { apn: variables.apn, owner: 'SMITH 1' } } });
}

/** Pages for users who have logged in; others are redirected to the login, with a status of 200 in the end. */
function members({ method, url, headers, body }: ModelRequest, logins: number[]): ModelReply {
  if (url.pathname === '/login' && method === 'POST') {
    const form = new URLSearchParams(body);
    if (form.get('user') !== 'clerk' || form.get('password') !== PASSWORD) return html(LOGIN_PAGE);
    logins.push(0);
    const cookie = `session=${logins.length - 1}; Path=/`;
    return { status: 303, headers: { location: '/members', 'set-cookie': cookie }, body: '' };
  }
  if (url.pathname === '/login') return html(LOGIN_PAGE);
  const session = Number(/session=(\d+)/.exec(String(headers['cookie']))?.[1] ?? Number.NaN);
  const used = logins[session] ?? PAGES_PER_LOGIN + 1;
  if (used > PAGES_PER_LOGIN) return { status: 303, headers: { location: '/login' }, body: '' };
  logins[session] = used + 1;
  if (url.pathname === '/members') return html('<h1>Welcome</h1><a href="/logout">Log out</a>');
  const apn = /^\/members\/([\d-]+)$/.exec(url.pathname)?.[1];
  return apn === undefined ? html('<h1>Not found</h1>', 404) : html(`<h1>${apn}</h1><p id="mortgage">$80,000.00</p>`);
}

const LOGIN_PAGE =
  '<h1>Log in</h1><form id="login" method="post" action="/login"><input name="user"><input name="password"><button>Log in</button></form>';

function html(body: string, status = 200): ModelReply {
  return { status, body: `<!DOCTYPE html><title>County</title>${body}` };
}

function json(value: unknown, status = 200): ModelReply {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}
