import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { postbackIn } from '../../src/scraping/http/postback.ts';
import { failsAs, openClient, openSite } from './http-support.ts';

/** A small WebForms site: view state belongs to a session and to a visit of the page, and must come back as it was. */
async function openCounty(t: TestContext) {
  const states = new Map<string, string>();
  let sessions = 0;
  let pages = 0;
  const site = await openSite(t, ({ method, path, form, cookies }) => {
    const old = cookies.get('ASP.NET_SessionId');
    sessions += old === undefined ? 1 : 0;
    const session = old ?? `s${sessions}`;
    if (method === 'POST') {
      if (form.get('__VIEWSTATE') !== states.get(session)) {
        return { status: 500, body: '<title>Validation of viewstate MAC failed.</title>' };
      }
      if (!form.has('__EVENTVALIDATION')) return { status: 500 };
    }
    pages += 1;
    states.set(session, `state-${session}-${pages}=`);
    const said = [
      form.getAll('__EVENTTARGET').join('|'),
      form.get('__EVENTARGUMENT'),
      form.get('ctl00$search'),
      form.get('ctl00$go'),
    ];
    return {
      headers:
        old === undefined ? { 'set-cookie': `ASP.NET_SessionId=${session}; path=/; HttpOnly; SameSite=Lax` } : {},
      body: `<form action="/site-search"><input name="q"></form><form method="post" action=".${path}" id="form1">
        <input type="hidden" name="__EVENTTARGET" value="" />
        <input type="hidden" name="__VIEWSTATE" id="__VIEWSTATE" value="${states.get(session)}" />
        <input type="hidden" name="__EVENTVALIDATION" value="ev" />
        <input name="ctl00$search" id="ctl00_search" value="${form.get('ctl00$search') ?? ''}">
        <input type="submit" name="ctl00$go" value="Go">
        <a id="next" href="javascript:__doPostBack(&#39;ctl00$grid&#39;,&#39;Page$2&#39;)">2</a>
        <a id="ctl00_link" href='javascript:WebForm_DoPostBackWithOptions(new WebForm_PostBackOptions("ctl00$link", "", true, "", "", false, true))'>Link</a>
        <input type="button" id="push" value="Push" onclick="javascript:__doPostBack('ctl00$push','')">
      </form><p id="said">${JSON.stringify(said)}</p><p id=state>${states.get(session)}</p>`,
    };
  });
  return { site, open: () => openClient(t).get(`${site.origin}/Search.aspx`) };
}

test('a postback sends all state of the form, its target and its argument, and no button', async (t) => {
  const { open } = await openCounty(t);
  const page = await open();
  const next = await page.postback('ctl00$grid', 'Page$2');
  assert.equal(next.text('#said'), '["ctl00$grid","Page$2","",null]');
  const last = await next.postback('ctl00$other');
  assert.equal(last.text('#said'), '["ctl00$other","","",null]');
});

test('following a link does the postback that it represents', async (t) => {
  const { open } = await openCounty(t);
  const page = await (await open()).follow('#next');
  assert.equal(page.text('#said'), '["ctl00$grid","Page$2","",null]');
  assert.equal((await page.follow('#push')).text('#said'), '["ctl00$push","","",null]');
});

test('a button of the form is pressed with its name; one that works by script does its postback with what was filled in', async (t) => {
  const { open } = await openCounty(t);
  const page = await open();
  const found = await page.form('#form1').fill({ ctl00_search: '200-14-030' }).submit('Go');
  assert.equal(found.text('#said'), '["",null,"200-14-030","Go"]');
  const linked = await found.form('#form1').submit('ctl00_link');
  assert.equal(linked.text('#said'), '["ctl00$link","","200-14-030",null]');
  const pushed = await linked.form('#form1').submit('Push');
  assert.equal(pushed.text('#said'), '["ctl00$push","","200-14-030",null]');
});

test('state that no longer belongs to this page is a stale session', async (t) => {
  const { open } = await openCounty(t);
  const page = await open();
  await page.follow('#next');
  await failsAs(page.follow('#next'), 'navigation_failed', /view state was stale/);
});

test('two clients have two sessions', async (t) => {
  const { site, open } = await openCounty(t);
  const [one, other] = [await open(), await open()];
  assert.equal(one.text('#state'), 'state-s1-1=');
  assert.equal(other.text('#state'), 'state-s2-2=');
  await Promise.all([one.follow('#next'), other.follow('#next')]);
  const posts = site.asked
    .filter(({ method }) => method === 'POST')
    .map(({ cookies }) => cookies.get('ASP.NET_SessionId'));
  assert.deepEqual(posts.sort(), ['s1', 's2']);
});

test('a page without a form has nothing to post back', async (t) => {
  const site = await openSite(t, () => '<p>No records found</p>');
  const page = await openClient(t).get(site.origin);
  await failsAs(page.postback('x'), 'no_results', /No records found.*a form to post back is not on the page/);
});

test('postbacks are read as scripts write them', () => {
  assert.deepEqual(postbackIn("javascript:__doPostBack('a$b','it\\'s \\x41\\u0042 \\\\')"), {
    target: 'a$b',
    argument: "it's AB \\",
  });
  assert.deepEqual(postbackIn(`setTimeout('x'); __doPostBack( "a" , "" );return false;`), {
    target: 'a',
    argument: '',
  });
  assert.deepEqual(postbackIn("__doPostBack('a')"), { target: 'a', argument: '' });
  assert.equal(postbackIn('javascript:void(0)'), null);
  assert.equal(postbackIn('javascript:__doPostBack(variable)'), null);
});
