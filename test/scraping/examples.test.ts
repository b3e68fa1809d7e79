import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import exampleHttp from '../../scrapers/examples/http.ts';
import exampleMock from '../../scrapers/examples/mock.ts';
import { artifactOf, jsonOf, visitCounty } from './demo-support.ts';

const { county, setFaults, scrape } = await visitCounty({ after });

test('any page is kept with its title, its headings, and its size', async () => {
  const url = `${county.url}/`;
  const data = jsonOf(await scrape(exampleHttp, { url }), 'data') as Record<string, unknown>;
  assert.deepEqual(
    [data['url'], data['title'], data['headings']],
    [url, 'Alma County Assessor & Treasurer', ['Alma County Assessor & Treasurer', 'Welcome', 'News']],
  );
  assert.ok(Number(data['links']) > 20 && Number(data['text_length']) > 500, JSON.stringify(data));
});

test('without a url it asks the trial site, with test_param or with nothing, whatever else the input has', async () => {
  const base_url = `${county.url}/`;
  const asked = jsonOf(await scrape(exampleHttp, { test_param: 'hello', base_url }), 'data') as Record<string, unknown>;
  const { item_id, content_length, ...rest } = asked;
  assert.deepEqual(rest, {
    test_param: 'hello',
    response_url: `${county.url}/json?test=hello`,
    status_code: 200,
  });
  assert.ok(typeof item_id === 'string' && Number(content_length) > 10);
  const other = jsonOf(await scrape(exampleHttp, { parcel: 7, base_url }), 'data') as Record<string, unknown>;
  assert.deepEqual([other['response_url'], other['test_param']], [`${county.url}/json`, null]);
});

test('a stored answer of the trial site is read again without the web', async () => {
  const input = { test_param: 'hello', base_url: county.url };
  const html = artifactOf(await scrape(exampleHttp, input), 'html');
  assert.ok(html instanceof Uint8Array && exampleHttp.extract !== null);
  const body = Buffer.from(html).toString();
  const again = await exampleHttp.extract({ input, body, url: `${county.url}/json?test=hello` });
  const data = jsonOf(again, 'data') as Record<string, unknown>;
  assert.deepEqual([data['test_param'], data['response_url']], ['hello', `${county.url}/json?test=hello`]);
});

test('a block page is not kept as if it were the page, and an invalid address is not requested', async () => {
  await setFaults({ block: {} });
  const blocked = await scrape(exampleHttp, { url: `${county.url}/` });
  assert.equal(blocked.kind === 'failed' && blocked.failure.type, 'blocked');
  for (const url of ['county.test', 'file:///etc/passwd', '']) {
    const result = await scrape(exampleHttp, { url });
    assert.equal(result.kind === 'failed' && result.failure.type, 'invalid_input', url);
  }
});

test('made-up data also comes for an input without a parcel number, the same each time', async () => {
  const [one, again, other] = await Promise.all([{ n: 1 }, { n: 1 }, { n: 2 }].map((any) => scrape(exampleMock, any)));
  assert.ok(one !== undefined && again !== undefined && other !== undefined);
  assert.match((jsonOf(one, 'data') as { apn: string }).apn, /^\d{3}-\d{2}-\d{3}$/);
  assert.deepEqual(one, again);
  assert.notDeepEqual(jsonOf(one, 'data'), jsonOf(other, 'data'));
});

test('made-up data is the same for the same number, different for another, and adds up', async () => {
  const [one, again, other] = await Promise.all(
    ['101-01-001', '101-01-001', '<b>&'].map((apn) => scrape(exampleMock, { apn, more: 'fields are fine' })),
  );
  assert.ok(one !== undefined && again !== undefined && other !== undefined);
  assert.deepEqual(one, again);
  const data = jsonOf(one, 'data') as Record<string, number>;
  assert.deepEqual(Object.keys(data).sort(), [
    ...['apn', 'assessed_value', 'market_value', 'owner', 'situs_address', 'total_tax', 'year_built'],
  ]);
  assert.equal(data['assessed_value'], (data['market_value'] ?? 0) / 10);
  assert.notDeepEqual({ ...data, apn: '' }, { ...(jsonOf(other, 'data') as object), apn: '' });
  const html = artifactOf(other, 'html');
  assert.ok(html instanceof Uint8Array);
  assert.match(Buffer.from(html).toString(), /<title>Parcel &lt;b>&amp;<\/title>/);
});
