import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, test } from 'node:test';
import { startCounty } from '../../demo/county.ts';
import { dollars } from '../../demo/pages/html.ts';
import { apnOf, parcelOf } from '../../demo/parcels.ts';
import { hiddenFields, SEARCH, Visitor } from './visitor.ts';

const county = await startCounty({ parcels: 5000, seed: 1, sessions: 50 });
after(() => county.close());
const visit = () => new Visitor(county.url);

test('the search asks for consent first, and leads back once it is given', async () => {
  const visitor = visit();
  const home = await visitor.get('/');
  assert.ok(home.text.includes(`href="${SEARCH}"`));
  const refused = await visitor.get(SEARCH);
  assert.equal(refused.status, 302);
  const disclaimer = refused.headers.get('location') ?? '';
  assert.match(disclaimer, /^\/Search\/Disclaimer\.aspx\?FromUrl=/);
  const page = await visitor.get(disclaimer);
  const disagreed = await visitor.post(disclaimer, { ...hiddenFields(page.text), btDisagree: '' });
  assert.deepEqual([disagreed.status, disagreed.headers.get('location')], [302, '/']);
  assert.equal(visitor.cookies.get('DISCLAIMER'), undefined);
  const agreed = await visitor.post(disclaimer, { ...hiddenFields(page.text), btAgree: '' });
  assert.deepEqual(
    [agreed.status, agreed.headers.get('location')],
    [302, SEARCH.toLowerCase().replace('realprop', 'REALPROP')],
  );
  assert.equal(visitor.cookies.get('DISCLAIMER'), '1');
  assert.equal((await visitor.get(SEARCH)).status, 200);
});

test('the disclaimer leads nowhere but back to this site', async () => {
  for (const from of ['//evil.test/', 'https://evil.test/', '/\\evil.test', '/a%0d%0aX: y']) {
    const visitor = visit();
    const path = `/Search/Disclaimer.aspx?FromUrl=${encodeURIComponent(from)}`;
    const page = await visitor.get(path);
    const agreed = await visitor.post(path, { ...hiddenFields(page.text), btAgree: '' });
    assert.equal(agreed.headers.get('location'), SEARCH, from);
  }
});

test('a parcel is searched for, chosen, shown and billed, all by the session', async () => {
  const visitor = visit();
  const parcel = parcelOf(1, 1234);
  const list = await visitor.search({ inpParid: parcel.apn });
  assert.equal(list.text.match(/<tr class="SearchResults"/g)?.length, 1);
  const chosen = await visitor.select(list, 0);
  assert.deepEqual([chosen.status, chosen.headers.get('location')], [302, '/Datalets/Datalet.aspx?mode=profile']);
  const detail = await visitor.get('/Datalets/Datalet.aspx?mode=profile');
  assert.ok(detail.text.includes(`id="datalet_lblParid">${parcel.apn}<`));
  assert.ok(detail.text.includes(`id="datalet_lblTotalTax">${dollars(parcel.bills.at(-1)?.totalCents ?? 0)}<`));
  const bill = await visitor.get('/bills/Bill.aspx?year=2025');
  assert.equal(bill.headers.get('content-type'), 'application/pdf');
  assert.ok(bill.text.startsWith('%PDF-') && bill.bytes.toString('latin1').includes(parcel.apn));
  assert.equal((await visitor.get('/bills/Bill.aspx?year=1999')).status, 404);
});

test('the row that is clicked is the parcel that is shown', async () => {
  const visitor = visit();
  const list = await visitor.search({ inpParid: '101-02' });
  assert.equal(list.text.match(/<tr class="SearchResults"/g)?.length, 25);
  await visitor.select(list, 7);
  const detail = await visitor.get('/datalets/datalet.aspx?mode=profile');
  assert.ok(detail.text.includes(`id="datalet_lblParid">${apnOf(157)}<`));
});

test('owners are found by the beginning of their name', async () => {
  const { owner } = parcelOf(1, 40);
  const list = await visit().search({ inpOwner: owner.toLowerCase() });
  assert.ok(list.text.includes(apnOf(40)));
});

test('what is not there is said in words, not by a status', async () => {
  for (const fields of [{ inpParid: '999-99-999' }, { inpOwner: 'NOBODY AT ALL' }, { inpParid: apnOf(5000) }, {}]) {
    const list = await visit().search(fields);
    assert.equal(list.status, 200);
    assert.ok(list.text.includes('Your search did not find any records.'), JSON.stringify(fields));
  }
});

test('the state of another visitor, of another page, or none is refused', async () => {
  const [mine, other] = [visit(), visit()];
  const foreign = await other.search({ inpParid: apnOf(1) });
  const list = await mine.search({ inpParid: apnOf(2) });
  const failed = 'Validation of viewstate MAC failed';
  for (const fields of [hiddenFields(foreign.text), {}, { ...hiddenFields(list.text), __VIEWSTATE: 'AAAA' }]) {
    const answer = await mine.post(SEARCH, { ...fields, hdAction: 'Search', inpParid: apnOf(3) });
    assert.equal(answer.status, 500);
    assert.ok(answer.text.includes(failed));
  }
  const disclaimer = await mine.get('/Search/Disclaimer.aspx');
  const wrongPage = await mine.post(SEARCH, hiddenFields(disclaimer.text));
  assert.equal(wrongPage.status, 500);
  assert.ok(wrongPage.text.includes('The state information is invalid for this page'));
  assert.equal((await mine.select(list, 1)).status, 500);
});

test('a session that was pushed out has to start again', async () => {
  const visitor = visit();
  const list = await visitor.search({ inpParid: apnOf(3) });
  for (let count = 0; count < 50; count += 1) await visit().get('/Search/Disclaimer.aspx');
  const late = await visitor.select(list, 0);
  assert.equal(late.status, 500);
  assert.ok(late.text.includes('Validation of viewstate MAC failed'));
});

test('pages of the session send those who have not chosen a parcel to the search', async () => {
  for (const path of ['/Datalets/Datalet.aspx?mode=profile', '/bills/Bill.aspx?year=2025']) {
    const answer = await visit().get(path);
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, SEARCH]);
  }
});

test('the direct page of a parcel is about 25 KB and needs no session', async () => {
  for (const n of [0, 5, 777, 4999]) {
    const page = await visit().get(`/parcel/${apnOf(n)}`);
    assert.equal(page.status, 200);
    assert.ok(page.bytes.length > 20_000 && page.bytes.length < 30_000, `${page.bytes.length} bytes`);
    assert.equal(Number(page.headers.get('content-length')), page.bytes.length);
    assert.ok(page.text.includes(`id="datalet_lblParid">${apnOf(n)}<`));
  }
  for (const apn of [apnOf(5000), '999-99-999', 'x', '%00']) {
    assert.equal((await visit().get(`/parcel/${apn}`)).status, 404, apn);
  }
});

test('texts are escaped', async () => {
  const n = Array.from({ length: 100 }, (_, each) => each).find((each) => parcelOf(1, each).owner.includes(' & '));
  const page = await visit().get(`/parcel/${apnOf(n ?? -1)}`);
  assert.ok(
    page.text.includes(
      parcelOf(1, n ?? -1)
        .owner.replaceAll('&', '&amp;')
        .replaceAll("'", '&#39;'),
    ),
  );
  assert.doesNotMatch(page.text.replaceAll(/<(style|script).*?<\/\1>/gs, ''), /&(?!amp;|#39;|lt;|gt;|quot;|raquo;)/);
});

test('HEAD says the length and sends nothing, and the connection is used again', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (method: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ length: number; bytes: number; port: number }>();
    const sent = request(`${county.url}/parcel/${apnOf(9)}`, { method, agent }, (response) => {
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
      });
      const port = response.socket.localPort ?? 0;
      response.on('end', () => resolve({ length: Number(response.headers['content-length']), bytes, port }));
    });
    sent.on('error', reject).end();
    return promise;
  };
  const [head, get] = [await ask('HEAD'), await ask('GET')];
  agent.destroy();
  assert.deepEqual([head.bytes, head.length, head.port], [0, get.length, get.port]);
  assert.equal(get.bytes, get.length);
});

test('the list of parcels is a CSV of as many as were asked for', async () => {
  const list = await visit().get('/parcels.csv?limit=1500');
  const lines = list.text.trimEnd().split('\n');
  assert.deepEqual([lines.length, lines[0], lines[1], lines.at(-1)], [1501, 'apn', apnOf(0), apnOf(1499)]);
  assert.equal((await visit().get('/parcels.csv')).text.trimEnd().split('\n').length, 5001);
  assert.equal((await visit().get('/parcels.csv?limit=-1')).status, 400);
});

test('what a visitor may not send is refused', async () => {
  const large = await fetch(`${county.url}/`, { method: 'POST', body: 'x'.repeat(300 * 1024) });
  assert.equal(large.status, 413);
  assert.equal((await fetch(`${county.url}/`, { method: 'DELETE' })).status, 405);
  await assert.rejects(startCounty({ parcels: 0 }), /parcels: 0 is not a whole number/);
});
