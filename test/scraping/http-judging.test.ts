import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AnswerOptions } from '../../src/scraping/http/answer-options.ts';
import type { HttpClient } from '../../src/scraping/http/http-client.ts';
import { type Asked, failsAs, openClient, openSite, type Reply } from './http-support.ts';

const NOTICE = '<footer>Map layers are unavailable during scheduled maintenance</footer>';
const START = `<form action=/answer method=post><input type=hidden name=__VIEWSTATE value=v><input name=q></form>
  <a id=link href=/answer>x</a><a id=back href="javascript:__doPostBack('t','')">x</a>`;

type Call = (http: HttpClient, origin: string, options: AnswerOptions) => Promise<unknown>;

const start = (http: HttpClient, origin: string) => http.get(`${origin}/start`);

/** Every call that brings an answer. */
const CALLS: Readonly<Record<string, Call>> = {
  'http.get': (http, origin, options) => http.get(`${origin}/answer`, options),
  'http.post': (http, origin, options) => http.post(`${origin}/answer`, { form: {}, ...options }),
  'form.submit': async (http, origin, options) => (await start(http, origin)).form().submit(undefined, options),
  'form.postback': async (http, origin, options) =>
    (await start(http, origin)).form().postback({ target: 't', argument: '' }, options),
  'page.postback': async (http, origin, options) => (await start(http, origin)).postback('t', '', options),
  'page.follow, a link': async (http, origin, options) => (await start(http, origin)).follow('#link', options),
  'page.follow, a postback': async (http, origin, options) => (await start(http, origin)).follow('#back', options),
};

/** Of these calls, the following bring something other than a page. */
const OTHER_CALLS: typeof CALLS = {
  'http.json': (http, origin, options) => http.json(`${origin}/answer`, options),
  'http.document': (http, origin, options) => http.document(`${origin}/answer`, options),
  'form.document': async (http, origin, options) => (await start(http, origin)).form().document(undefined, options),
};

async function openAnswering(t: TestContext, reply: Reply | string) {
  const site = await openSite(t, ({ path }) => (path === '/start' ? START : reply));
  return { site, http: openClient(t) };
}

for (const [name, call] of Object.entries({ ...CALLS, ...OTHER_CALLS })) {
  test(`${name} takes what is normal here, and signs and headers of its own`, async (t) => {
    const { http, site } = await openAnswering(t, { status: 404, body: '{"note":"Gone fishing"}' });
    const normal = { expectStatus: [404], headers: { 'x-own': 'yes' } };
    await failsAs(call(http, site.origin, {}), 'not_found');
    await failsAs(call(http, site.origin, { ...normal, signs: { maintenance: ['gone fishing'] } }), 'maintenance');
    assert.equal(site.asked.at(-1)?.headers['x-own'], 'yes');
    // A document must have a good status, whatever is normal: the page in its place is judged.
    const work = call(http, site.origin, normal);
    if (name.endsWith('document')) await failsAs(work, 'navigation_failed');
    else await work;
  });
}

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name} does not take a notice for maintenance where the page has what is asked for next`, async (t) => {
    const { http, site } = await openAnswering(t, `<p id=owner>SMITH</p>${NOTICE}`);
    await failsAs(call(http, site.origin, {}), 'maintenance');
    await call(http, site.origin, { expectElement: '#owner' });
    await call(http, site.origin, { signs: { maintenance: [] } });
    await failsAs(call(http, site.origin, { expectElement: '#tax' }), 'maintenance');
  });
}

test('a page that lacks what it must have ends the try, with what the page says instead', async (t) => {
  const { http, site } = await openAnswering(t, '<p>No records found');
  await failsAs(
    http.get(`${site.origin}/answer`, { expectElement: '#owner' }),
    'no_results',
    /No records found.*#owner/,
  );
  const signs = { nothingFound: ['nothing here'] };
  await failsAs(http.get('/answer', { expectElement: '#owner', signs }), 'structure_changed', /#owner/);
  assert.equal(http.lastPage?.url, `${site.origin}/answer`);
});

test('a notice on a page with a form is not maintenance, but explains what is missing there', async (t) => {
  const { http, site } = await openAnswering(t, `<form><input name=q></form>${NOTICE}`);
  const page = await http.get(`${site.origin}/answer`);
  page.form().fill({ q: 'x' });
  await failsAs(() => page.text('#owner'), 'maintenance', /unavailable during scheduled maintenance.*#owner/);
});

const CONSENT = `<p>No records found here may be used in court.</p>
  <form action=/agree method=post><button id=agree>I agree</button></form>`;

/** A site that wants consent first, and forgets it after so many pages. */
async function openConsenting(t: TestContext, pagesUntilLost: number) {
  let left = 0;
  const answer = ({ path }: Asked): Reply | string => {
    if (path === '/consent') return CONSENT;
    if (path === '/agree') {
      left = pagesUntilLost;
      return { status: 302, headers: { location: '/search' } };
    }
    if (left === 0) return { status: 302, headers: { location: '/consent' } };
    left -= 1;
    if (path === '/none') return { status: 302, headers: { location: '/none-found' } };
    if (path === '/none-found') return `<p>No records found</p><form><input name=q></form>`;
    return `<form action=${path === '/search' ? '/results' : '/none'} method=post><input name=q></form>`;
  };
  const site = await openSite(t, answer);
  const http = openClient(t);
  const consent = await http.get(`${site.origin}/search`);
  return { http, search: await consent.form().submit('#agree') };
}

test('a session that is lost on the way is not taken for a parcel that does not exist', async (t) => {
  const { search } = await openConsenting(t, 1);
  const results = await search.form().submit();
  await failsAs(() => results.text('#owner'), 'navigation_failed', /another page than \/results.*#owner/);
  const other = await openConsenting(t, 1);
  const page = await other.http.get('/results');
  await failsAs(() => page.text('#owner'), 'navigation_failed', /another page than \/results/);
});

test('the answer to a form may be another page, and "no records" there is meant', async (t) => {
  const { http } = await openConsenting(t, 9);
  const form = (await http.get('/results')).form();
  const none = await form.submit();
  assert.match(none.url, /none-found$/);
  await failsAs(() => none.text('#owner'), 'no_results', /No records found/);
});

test('a page that is asked for again after a 503 is not one to which the site leads back', async (t) => {
  let visits = 0;
  const site = await openSite(t, ({ path }) => {
    if (path === '/parcel') return { status: 302, headers: { location: '/detail' } };
    visits += 1;
    return visits === 1 ? { status: 503 } : '<form><input name=q></form>';
  });
  const page = await openClient(t).get(`${site.origin}/parcel`);
  assert.equal(visits, 2);
  await failsAs(() => page.text('#owner'), 'structure_changed', /#owner/);
});
