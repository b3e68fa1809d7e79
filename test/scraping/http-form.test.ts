import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { failsAs, openClient, openSite } from './http-support.ts';

/** A site with one page; what is sent to any other path is echoed. */
async function openFormPage(t: TestContext, body: string) {
  const site = await openSite(t, ({ path }) => (path === '/dir/page' ? `<html><body>${body}</body></html>` : 'ok'));
  const page = await openClient(t).get(`${site.origin}/dir/page?old=1`);
  const sent = () => {
    const last = site.asked.at(-1);
    assert.ok(last);
    return { ...last, pairs: [...(last.method === 'GET' ? last.query : last.form)] };
  };
  return { site, page, sent };
}

test('a form sends what a browser sends, in the order of the page', async (t) => {
  const { page, sent } = await openFormPage(
    t,
    `<form method=post action="../save#part">
      <input type=hidden name=state value="a&amp;b">
      <input name=text value="old">
      <input name=gone value=x disabled><input value="has no name">
      <fieldset disabled><legend><input name=legend value=l></legend><input name=fieldset value=x></fieldset>
      <input type=checkbox name=tick checked><input type=checkbox name=untick value=1>
      <input type=radio name=r value=1 checked><input type=radio name=r value=2 checked>
      <select name=one><option disabled>no<option>first<option value=v2>second</select>
      <select name=many multiple><option selected>a<option selected>b<option>c<option disabled selected>d</select>
      <select name=list size=4><option>x</select>
      <select name=group><optgroup disabled><option selected>g</optgroup></select><input name=line value="a&#10;b">
      <textarea name=area>
line 1
line 2</textarea>
      <input type=file name=upload>
      <input type=button name=push value=x><input type=reset name=reset value=x>
      <button type=reset name=again value=x>Again</button><button name=go value=1>Go</button><input type=submit name=other value=Other>
    </form>`,
  );
  await page.form().fill({ text: 'new text' }).submit();
  const { method, path, pairs, headers } = sent();
  assert.equal(`${method} ${path}`, 'POST /save');
  assert.equal(headers['content-type'], 'application/x-www-form-urlencoded');
  assert.deepEqual(pairs, [
    ['state', 'a&b'],
    ['text', 'new text'],
    ['legend', 'l'],
    ['tick', 'on'],
    ['r', '2'],
    ['one', 'first'],
    ['many', 'a'],
    ['many', 'b'],
    ['line', 'ab'],
    ['area', 'line 1\r\nline 2'],
    ['upload', ''],
    ['go', '1'],
  ]);
});

test('the pressed button says where the form goes, and is the only button that is sent', async (t) => {
  const { page, sent } = await openFormPage(
    t,
    `<form id=f action=/one><input name=q value="1 2"><input type=submit name=a value=A>
      <button id=second name=b value=B formaction="/two?x=1" formmethod=post>Search <b>now</b></button>
      <input type=image name=pic alt="Find"></form><button form=f name=c value=C>Outside</button>`,
  );
  await page.form('#f').submit('a');
  assert.deepEqual(
    [sent().method, sent().path, sent().pairs],
    [
      'GET',
      '/one',
      [
        ['q', '1 2'],
        ['a', 'A'],
      ],
    ],
  );
  for (const button of ['b', 'second', '#f button', ' search  NOW ']) {
    await page.form('#f').submit(button);
    assert.deepEqual(
      [sent().method, sent().path, sent().pairs],
      [
        'POST',
        '/two',
        [
          ['q', '1 2'],
          ['b', 'B'],
        ],
      ],
    );
    assert.equal(sent().query.get('x'), '1');
  }
  await page.form('#f').submit('Find');
  assert.deepEqual(sent().pairs, [
    ['q', '1 2'],
    ['pic.x', '0'],
    ['pic.y', '0'],
  ]);
  await page.form('#f').submit('Outside');
  assert.deepEqual(sent().pairs, [
    ['q', '1 2'],
    ['c', 'C'],
  ]);
});

test('a button that is disabled at first can be pressed, but not by Enter', async (t) => {
  const { page, sent } = await openFormPage(
    t,
    '<form action=/a><input name=q value=1><button id=accept name=ok value=1 formaction=/b disabled>I accept</button></form>',
  );
  await page.form().submit();
  assert.deepEqual([sent().path, sent().pairs], ['/a', [['q', '1']]]);
  await page.form().submit('#accept');
  assert.deepEqual([sent().path, sent().pairs.length], ['/b', 2]);
});

test('a form that is sent by GET replaces the query of its action, and an empty action is the page itself', async (t) => {
  const { page, sent } = await openFormPage(t, '<base href="/elsewhere/"><form><input name=q></form>');
  await page.form().fill({ q: 'é+&' }).submit();
  assert.deepEqual([sent().path, sent().pairs], ['/dir/page', [['q', 'é+&']]]);
});

test('an action is relative to the base of the page', async (t) => {
  const { page, sent } = await openFormPage(t, '<base href="/elsewhere/"><form action=find><input name=q></form>');
  await page.form().submit();
  assert.equal(sent().path, '/elsewhere/find');
});

test('a multipart form sends its fields as parts', async (t) => {
  const { page, sent } = await openFormPage(
    t,
    `<form method=post action=/up enctype="multipart/form-data"><input name='say "hi"' value="é"><textarea name=area>
a
b</textarea><input type=file name=upload></form>`,
  );
  await page.form().submit();
  const boundary = /^multipart\/form-data; boundary=(\S+)$/.exec(sent().headers['content-type'] ?? '')?.[1];
  assert.ok(boundary);
  assert.equal(
    sent().body,
    [
      `--${boundary}\r\nContent-Disposition: form-data; name="say %22hi%22"\r\n\r\né\r\n`,
      `--${boundary}\r\nContent-Disposition: form-data; name="area"\r\n\r\na\r\nb\r\n`,
      `--${boundary}\r\nContent-Disposition: form-data; name="upload"; filename=""\r\n`,
      `Content-Type: application/octet-stream\r\n\r\n\r\n--${boundary}--\r\n`,
    ].join(''),
  );
});

test('fields are filled by name, id or selector, choices by value or label', async (t) => {
  const { page, sent } = await openFormPage(
    t,
    `<form method=post action=/x><input name="ctl00$main$book" id="ctl00_main_book"><input name=map class=map>
      <input name=part><input name=part>
      <input name=locked disabled>
      <select name=year><option value=1>2024</option><option value=2>2025 </option></select>
      <select name=kinds multiple><option selected>a<option>b<option disabled>c</select>
      <input type=checkbox name=agree id=agree><input type=checkbox name=box value=1 checked><input type=checkbox name=box value=2>
      <input type=radio name=by value=apn id=apn checked><input type=radio name=by value=owner id=owner></form>`,
  );
  const form = page.form();
  assert.equal(form.value('by'), 'apn');
  assert.equal(form.value('agree'), null);
  form
    .fill({ ctl00_main_book: '200', '.map': 14, part: ['1', '2'], locked: 'free', year: '2025', kinds: ['b', 'c'] })
    .fill({ agree: true, box: ['2'], owner: true });
  assert.equal(form.value('ctl00$main$book'), '200');
  assert.equal(form.value('year'), '2');
  await form.submit();
  assert.deepEqual(sent().pairs, [
    ['ctl00$main$book', '200'],
    ['map', '14'],
    ['part', '1'],
    ['part', '2'],
    ['locked', 'free'],
    ['year', '2'],
    ['kinds', 'b'],
    ['kinds', 'c'],
    ['agree', 'on'],
    ['box', '2'],
    ['by', 'owner'],
  ]);
});

test('a field, a choice, a button or a form that is not there is a change of structure that names it', async (t) => {
  const { page } = await openFormPage(
    t,
    `<form id=a><input name=q><select name=year><option value=1>2024</select><input type=radio name=by value=apn>
      <a id=plain href="/x">x</a></form><form id=b action="javascript:send()"></form>`,
  );
  await failsAs(() => page.form('#a').fill({ none: 'x' }), 'structure_changed', /the field "none" is not on the page/);
  await failsAs(() => page.form('#a').value('none'), 'structure_changed', /"none"/);
  await failsAs(
    () => page.form('#a').fill({ year: '2025' }),
    'structure_changed',
    /"year" has no choice "2025", only "1"/,
  );
  await failsAs(() => page.form('#a').fill({ by: 'owner' }), 'structure_changed', /"by" has no choice "owner"/);
  await failsAs(() => page.form('#a').fill({ q: ['1', '2'] }), 'structure_changed', /no more than 1 fields "q"/);
  await failsAs(page.form('#a').submit('ctl00$go'), 'structure_changed', /the button "ctl00\$go"/);
  await failsAs(page.form('#a').submit('#plain'), 'structure_changed', /does not submit/);
  await failsAs(page.form('#b').submit(), 'structure_changed', /javascript:send/);
  await failsAs(() => page.form(), 'structure_changed', /several forms/);
  await failsAs(() => page.form('#c'), 'structure_changed', /#c is not on the page/);
});

test('a single choice takes a single value, and only a checkbox can be ticked', async (t) => {
  const { page } = await openFormPage(t, '<form><input name=q><select name=s><option>a<option>b</select></form>');
  await failsAs(() => page.form().fill({ q: true }), 'unexpected', /not a checkbox/);
  await failsAs(() => page.form().fill({ q: undefined as never }), 'unexpected', /"q" is filled with nothing/);
  await failsAs(() => page.form().fill({ s: ['a', 'b'] }), 'unexpected', /one choice/);
});

test('a form inside another is not a form, and its fields belong to the outer one', async (t) => {
  const { page, sent } = await openFormPage(
    t,
    '<form action=/o><input name=a value=1><form><input name=b value=2></form></form>',
  );
  await page.form().submit();
  assert.deepEqual(
    [sent().path, sent().pairs],
    [
      '/o',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
  );
});

test('a flow of several forms carries hidden state, cookies and the referer along', async (t) => {
  const site = await openSite(t, ({ path, form, cookies, headers }) => {
    if (path === '/') {
      return {
        headers: { 'set-cookie': 'sid=s1; Path=/; HttpOnly' },
        body: '<form method=post action=/terms><input type=hidden name=token value=t1><input type=submit name=btAgree value=""></form>',
      };
    }
    if (cookies.get('sid') !== 's1') return { status: 403 };
    if (path === '/terms' && form.get('token') === 't1' && form.has('btAgree')) {
      return { status: 302, headers: { location: '/search', 'set-cookie': 'DISCLAIMER=1' } };
    }
    if (path === '/search' && cookies.get('DISCLAIMER') === '1') {
      return '<form action=/result method=post><input name=apn><input type=hidden name=token value=t2></form>';
    }
    if (path === '/result' && form.get('token') === 't2' && headers['referer']?.endsWith('/search')) {
      return `<p id=found>${form.get('apn')}</p>`;
    }
    return { status: 500 };
  });
  const http = openClient(t);
  const terms = await http.get(site.origin);
  const search = await terms.form().submit('btAgree');
  assert.equal(search.url, `${site.origin}/search`);
  const result = await search.form().fill({ apn: '200-14-030' }).submit();
  assert.equal(result.text('#found'), '200-14-030');
});
