import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { apnOf, type Parcel, parcelOf } from '../../demo/parcels.ts';
import demoCounty from '../../scrapers/demo/county.ts';
import demoParcel from '../../scrapers/demo/parcel.ts';
import type { FailureType } from '../../src/domain/failure.ts';
import type { ScrapeResult } from '../../src/scraping/scraper.ts';
import { artifactOf, factsOf, jsonOf, visitCounty } from './demo-support.ts';

const { county, web, held, setFaults, scrape } = await visitCounty({ after });
const APN = apnOf(1234);
const PARCELS = Array.from({ length: 1500 }, (_, n) => parcelOf(1, n));

/** Parcels of every kind, by what is special about them. */
const SORTS: Readonly<Record<string, (parcel: Parcel) => boolean>> = {
  'a usual one': ({ building, coOwner }) => building !== null && coOwner === null,
  'one with a letter': ({ apn }) => /[A-Z]$/.test(apn),
  'one with a second owner': ({ coOwner }) => coOwner !== null,
  'vacant land': ({ building }) => building === null,
  'one that is exempt': ({ bills }) => bills.every(({ totalCents }) => totalCents === 0),
  'one whose bill is due in one piece': ({ bills }) =>
    bills.some(({ instalments, totalCents }) => instalments.length === 1 && totalCents > 0),
  'one of an owner with an Ñ': ({ owner }) => owner.includes('Ñ'),
  'one of an owner with an apostrophe': ({ owner }) => owner.includes("'"),
};

for (const [sort, is] of Object.entries(SORTS)) {
  test(`for ${sort}, it reads what the county knows`, async () => {
    const parcel = PARCELS.find(is);
    assert.ok(parcel !== undefined);
    const result = await scrape(demoCounty, { apn: parcel.apn, bill: false });
    assert.deepEqual(jsonOf(result, 'data'), expectedOf(parcel));
  });
}

test('it keeps the page, the data, how it got there, and the bill of the newest year', async () => {
  const result = await scrape(demoCounty, { apn: APN });
  assert.ok(result.kind === 'scraped');
  assert.deepEqual(result.artifacts.map(({ kind, extension }) => [kind, extension]).sort(), [
    ['data', undefined],
    ['document', 'pdf'],
    ['html', undefined],
  ]);
  const bill = artifactOf(result, 'document');
  assert.ok(bill !== null && 'size' in bill && bill.size > 10_000);
  const { requests } = factsOf(result) as { requests: { method: string; url: string }[] };
  assert.deepEqual(
    requests.map(({ method, url }) => `${method} ${url.replace('http://demo-county.test', '').toLowerCase()}`),
    [
      'GET /search/commonsearch.aspx?mode=realprop',
      'POST /search/disclaimer.aspx?fromurl=%2fsearch%2fcommonsearch.aspx%3fmode%3drealprop',
      'POST /search/commonsearch.aspx?mode=realprop',
      'POST /search/commonsearch.aspx?mode=realprop',
      'GET /bills/bill.aspx?year=2025',
    ],
  );
});

test('without the bill there is no document, and no request for one', async () => {
  const result = await scrape(demoCounty, { apn: APN, bill: false });
  assert.equal(artifactOf(result, 'document'), null);
});

test('a parcel that the county does not have ends as no_results, and an invalid number is not asked for', async () => {
  fails(await scrape(demoCounty, { apn: apnOf(5000) }), 'no_results');
  // The county has 101-01-006A, which a search for 101-01-006 lists.
  fails(await scrape(demoCounty, { apn: '101-01-006' }), 'no_results', /lists other parcels/);
  fails(await scrape(demoCounty, { apn: '12345' }), 'invalid_input', /apn: an APN looks like/);
});

const FAULTS: readonly [what: string, plan: object, type: FailureType, message?: RegExp][] = [
  ['a reset', { reset: {} }, 'network_error'],
  ['a reset in the middle', { reset: { from: 4 } }, 'network_error'],
  ['an error of the server', { serverError: {} }, 'server_error'],
  ['a challenge', { challenge: {} }, 'blocked'],
  ['a challenge in place of the bill', { challenge: { pages: ['bill'] } }, 'blocked'],
  ['a block page with status 200', { block: {} }, 'blocked'],
  ['a block page with status 200 in place of the bill', { block: { pages: ['bill'] } }, 'blocked'],
  ['maintenance', { maintenance: {} }, 'maintenance'],
  ['maintenance with status 200', { maintenance: { status: 200 } }, 'maintenance'],
  [
    'maintenance with status 200 in place of the bill',
    { maintenance: { status: 200, pages: ['bill'] } },
    'maintenance',
  ],
  ['a page that is gone', { notFound: { pages: ['detail'] } }, 'not_found'],
  ['a new layout of the search', { layout: { pages: ['search'] } }, 'structure_changed', /inpParid/],
  ['a new layout of the list', { layout: { pages: ['results'] } }, 'structure_changed', /#searchResults/],
  ['a new layout of the page', { layout: { pages: ['detail'] } }, 'structure_changed', /#datalet_lblParid/],
  ['the page of another parcel', { wrongParcel: {} }, 'navigation_failed', new RegExp(`about "${apnOf(1233)}"`)],
];

for (const [what, plan, type, message] of FAULTS) {
  test(`${what} ends as ${type}`, async () => {
    await setFaults(plan);
    fails(await scrape(demoCounty, { apn: APN }), type, message);
  });
}

test('too many requests end as rate_limited, and all hold back as long as the county asks', async () => {
  await setFaults({ rateLimit: { retryAfterSeconds: 7, pages: ['results'] } });
  const failure = fails(await scrape(demoCounty, { apn: APN }), 'rate_limited');
  assert.equal(failure.retryAfterMs, 7000);
  assert.deepEqual(held, [{ host: 'demo-county.test', ms: 7000 }]);
});

test('no answer, and one that drips, end as timeout', async () => {
  await setFaults({ timeout: { pages: ['detail'] } });
  fails(await scrape(demoCounty, { apn: APN }, { timeoutSeconds: 0.2 }), 'timeout');
  await setFaults({ drip: { bytes: 10, everyMs: 20 } });
  fails(await scrape(demoCounty, { apn: APN }, { timeoutSeconds: 0.2 }), 'timeout');
});

test('a county that is slow but not too slow does no harm', async () => {
  await setFaults({ latency: { minMs: 1, maxMs: 10 }, drip: { bytes: 9000, everyMs: 1 } });
  assert.equal((await scrape(demoCounty, { apn: APN })).kind, 'scraped');
});

test('a session that the county forgot ends as navigation_failed, because a new one will do', async (t) => {
  const small = await visitCounty(t, { sessions: 1 });
  const forgetting: typeof web = {
    async send(request, visit) {
      // Another visitor comes between the form and its answer.
      if (request.body?.toString().includes('inpParid')) await fetch(`${small.county.url}/Search/Disclaimer.aspx`);
      return small.web.send(request, visit);
    },
  };
  fails(await small.scrape(demoCounty, { apn: APN }, { web: forgetting }), 'navigation_failed', /view state/);
  assert.equal((await small.scrape(demoCounty, { apn: APN })).kind, 'scraped');
});

/** The county as it might be: requests on the way there, and pages on the way back, are changed a little. */
function changed({
  request = same,
  page = same,
}: {
  request?: (body: string) => string;
  page?: (html: string) => string;
}) {
  const way: typeof web = {
    async send(asked, visit) {
      const body = asked.body === null ? null : Buffer.from(request(Buffer.from(asked.body).toString()));
      const answer = await web.send({ ...asked, body }, visit);
      if (answer.kind === 'failed') return answer;
      return { ...answer, body: Buffer.from(page(Buffer.from(answer.body).toString())) };
    },
  };
  return { web: way };
}
const same = (text: string) => text;

test('of several rows it takes the one that was asked for', async () => {
  await setFaults({});
  // The county looks for the beginning of a number, and here it gets only a beginning.
  const way = changed({ request: (body) => body.replace(`inpParid=${APN}`, `inpParid=${APN.slice(0, 9)}`) });
  const apn = { apn: APN, bill: false };
  assert.equal((jsonOf(await scrape(demoCounty, apn, way), 'data') as { apn: string }).apn, APN);
});

test('a column that has another name is a change of the site', async () => {
  const way = changed({ page: (html) => html.replace('>Assessed Value</th>', '>Net Assessed</th>') });
  fails(await scrape(demoCounty, { apn: APN }, way), 'structure_changed', /column "Assessed Value"/);
});

test('districts that do not add up to the tax are refused', async () => {
  const total = /id="datalet_lblTotalTax">[^<]*</;
  const way = changed({ page: (html) => html.replace(total, 'id="datalet_lblTotalTax">$1.00<') });
  fails(await scrape(demoCounty, { apn: APN }, way), 'invalid_output', /total_tax: is not the sum of the districts/);
});

test('a click that leads back to the search has not reached the page', async () => {
  const way = changed({ request: (body) => body.replace(/__EVENTTARGET=[^&]+/, '__EVENTTARGET=') });
  fails(await scrape(demoCounty, { apn: APN }, way), 'navigation_failed', /not the requested page/);
});

test('two at a time each see their own parcel', async () => {
  await setFaults({ latency: { minMs: 0, maxMs: 5 } });
  const apns = Array.from({ length: 10 }, (_, n) => apnOf(n * 7));
  const results = await Promise.all(apns.map((apn) => scrape(demoCounty, { apn, bill: false })));
  assert.deepEqual(
    results.map((result) => (jsonOf(result, 'data') as { apn: string }).apn),
    apns,
  );
});

test('the one-page scraper reads ten fields by one request, and fails like the other', async () => {
  await setFaults({});
  const parcel = parcelOf(1, 1234);
  const result = await scrape(demoParcel, { apn: APN });
  const expected = expectedOf(parcel);
  assert.deepEqual(jsonOf(result, 'data'), {
    ...{ apn: APN, owner: parcel.owner, city: parcel.situs.city, zip: parcel.situs.zip, use: expected.property_use },
    ...{ legal: parcel.legal.description, market_value: expected.market_value },
    ...{ assessed_value: expected.assessed_value, total_tax: expected.total_tax },
    total_rate: parcel.districts.reduce((sum, { rates }) => sum + (rates.at(-1) ?? 0), 0) / 10_000,
  });
  assert.equal((factsOf(result) as { requests: unknown[] }).requests.length, 1);
  fails(await scrape(demoParcel, { apn: apnOf(5000) }), 'not_found');
  await setFaults({ wrongParcel: {} });
  fails(await scrape(demoParcel, { apn: APN }), 'navigation_failed');
  assert.match(county.url, /127\.0\.0\.1/);
});

function fails(result: ScrapeResult, type: FailureType, message = /./) {
  if (result.kind !== 'failed') assert.fail(`it ended as ${result.kind}`);
  assert.equal(result.failure.type, type, result.failure.message);
  assert.match(result.failure.message, message);
  return result.failure;
}

function expectedOf({ apn, owner, coOwner, mailing, situs, use, taxArea, ...parcel }: Parcel) {
  const { lotSquareFeet, building, legal, values, districts, bills } = parcel;
  const newest = values.at(-1);
  assert.ok(newest !== undefined);
  return {
    ...{ apn, tax_year: newest.year, owner, co_owner: coOwner, mailing_address: mailing },
    situs_address: `${situs.street}, ${situs.city} AZ ${situs.zip}`,
    ...{ situs_city: situs.city, situs_zip: situs.zip, property_use: `${use.code} - ${use.name}`, tax_area: taxArea },
    lot_square_feet: lotSquareFeet,
    living_square_feet: building?.squareFeet ?? null,
    year_built: building?.yearBuilt ?? null,
    ...{ subdivision: legal.subdivision, legal_description: legal.description },
    ...{ land_value: newest.land, improvement_value: newest.improvements, market_value: newest.market },
    ...{ assessment_ratio_percent: use.ratio / 100, assessed_value: newest.assessed },
    total_tax: (bills.at(-1)?.totalCents ?? 0) / 100,
    previous_total_tax: (bills.at(-2)?.totalCents ?? 0) / 100,
    values: values.toReversed().map(({ year, market, assessed }) => ({
      ...{ tax_year: year, market_value: market, assessed_value: assessed },
    })),
    districts: districts.map(({ code, name, rates, cents }) => ({
      ...{ code, name, rate_per_100: (rates.at(-1) ?? 0) / 10_000, tax: (cents.at(-1) ?? 0) / 100 },
    })),
    bills: bills.toReversed().map(({ year, number, totalCents, paidCents, dueCents }) => ({
      ...{ tax_year: year, number, total: totalCents / 100, paid: paidCents / 100, due: dueCents / 100 },
    })),
    instalments: bills.toReversed().flatMap(({ year, instalments }) =>
      instalments.map(({ name, dueOn, amountCents, payment }) => ({
        ...{ tax_year: year, name, due_on: dueOn, amount: amountCents / 100 },
        ...{ paid_on: payment?.paidOn ?? null, receipt: payment?.receipt ?? null },
      })),
    ),
  };
}
