import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { type Failure, failure } from '../../src/domain/failure.ts';
import { newFailure } from '../../src/domain/failure-group.ts';
import { urlPattern } from '../../src/domain/url-pattern.ts';
import { defineHttpScraper, expect, fail, z } from '../../src/scraping/author.ts';
import { FailureGroups } from '../support/memory/failure-groups.ts';
import { sized } from '../support/sized.ts';

/** What differs between the items of one county, although nothing is wrong with that. */
interface Odds {
  readonly rows: number;
  readonly has: (what: string) => boolean;
  readonly owner: string;
}

const OWNERS = ['SMITH, JOHN', "O'BRIEN & SONS", 'THE "BLUE" TRUST', 'Peña', 'LOT 7 LLC', 'DE LA CRUZ; MARIA'];

function oddsOf(number: number): Odds {
  // Every section comes and goes by itself, so that there are some hundred combinations.
  const has = (what: string) => Number.parseInt(hash('sha256', `${what} ${number}`).slice(0, 4), 16) % 3 === 0;
  return { rows: number % 17, has, owner: `${OWNERS[Math.floor(number / 7) % OWNERS.length]} ${number}` };
}

function frame(title: string, body: string, { has, owner }: Odds): string {
  return `<!DOCTYPE html><html lang="en"><head><title>${title} - ${owner.replaceAll('"', '&quot;')}</title><meta charset="utf-8">
<link rel="stylesheet" href="/site.css"><script>var page = "<div id=fake>";</script></head>
<body class="county ${has('sticky') ? 'has-alert' : ''}"><header class="top"><img src="/logo.png"><nav id="main-nav"><ul><li><a
 href="/">Home</a></li></ul></nav></header>
${has('an alert') ? '<div class="alert alert-warning" role="alert"><b>Payments are due.</b></div>' : ''}
<main id="content" class="container">${body}</main>
<footer class="bottom"><p>County of Example</p><small>Updated <time>today</time></small></footer></body></html>`;
}

function section(name: string, rows: number): string {
  const row = `<tr class="line"><td>2024</td><td><a href="#">$1</a></td></tr>`;
  return `<section id="${name}" class="card ${name}"><h3>${name}</h3><table id="tbl_${name}"><thead><tr><th>Year</th></tr></thead>
<tbody>${row.repeat(rows)}</tbody></table></section>`;
}

/** The county after its redesign. */
function newDetail(number: number): string {
  const odds = oddsOf(number);
  const optional = ['exemptions', 'sales', 'improvements-list', 'photographs', 'liens'].filter(odds.has);
  const badge = odds.has('badge!') ? '<div class="badge badge-danger"><i>Delinquent</i></div>' : '';
  const body = `<h1>Parcel ${number}${odds.has('new') ? '<span class="badge">New</span>' : ''}</h1>${badge}
<div id="summary" class="grid"><dl class="facts"><dt>Owner of record</dt><dd>${odds.owner}</dd></dl></div>
${section('values', odds.rows)}${section('taxes', odds.rows % 5)}${optional.map((name) => section(name, odds.rows)).join('')}
<form id="contact" action="/contact"><fieldset><label>Question</label><input name="q"><button>Send</button></fieldset></form>`;
  return frame('Parcel detail', body, odds);
}

/** This is not the parcel at all: the same site asks visitors to log in. */
function loginPage(number: number): string {
  const odds = oddsOf(number);
  const body = `<div class="login-box"><h2>Sign in</h2><form id="login" class="narrow" method="post"><label>Name</label><input
 name="user"><input type="password"><button>Go</button>${odds.has('remember') ? '<select><option>1</option></select>' : ''}</form>
<div id="register"><p>No account?</p></div><div class="oauth buttons"><iframe id="oauth"></iframe></div></div>`;
  return frame('Sign in', body, odds);
}

const Output = z.object({ owner: z.string(), bills: z.array(z.object({ amount: z.number() })) });

const scraper = defineHttpScraper({
  ...{ id: 'county', name: 'County', version: '1.0.0', description: 'A county for tests.', hosts: [] },
  input: z.object({ number: z.number(), cause: z.string() }),
  output: Output,
  scrape: async () => fail('unexpected', 'the pages are given'),
  parse: ({ page, input: { number, cause } }) => {
    const { rows, owner } = oddsOf(number);
    if (cause === 'redesign' || cause === 'login') return { owner: page.text('#owner'), bills: [] };
    if (cause === 'another parcel') expect.sameItem(`${owner} ${number + 1}`, owner);
    const amount = 'n/a' as unknown as number;
    return { owner, bills: Array.from({ length: 1 + rows }, () => ({ amount })) };
  },
});

function urlOf(number: number): string {
  const owner = encodeURIComponent(oddsOf(number).owner);
  return `https://county.test/parcel/${number % 2 === 0 ? number : LETTERS[number % LETTERS.length]}?owner=${owner}`;
}

/** Ids of parcels that do not look like an id. */
const LETTERS = ['ABC', 'north-side', 'Main_Street'];

/** The failure as a worker records it, with the kind of address at which it was seen. */
async function failureOf(cause: string, number: number): Promise<Failure> {
  const url = cause === 'login' ? `https://county.test/login?back=${number}` : urlOf(number);
  const place = urlPattern(url, { number, cause });
  assert.ok(place !== null);
  return { ...(await seenFailure(cause, number, url)), place };
}

async function seenFailure(cause: string, number: number, url: string): Promise<Failure> {
  if (cause === 'busy') return failure('server_error', `the server failed (503, ${url})`);
  if (cause === 'slow')
    return failure('timeout', `no answer from ${url} after ${number} ms and ${number % 4} redirects`);
  const body = cause === 'login' ? loginPage(number) : newDetail(number);
  const result = await scraper.extract?.({ input: { number, cause }, body, url });
  assert.ok(result?.kind === 'failed', JSON.stringify(result));
  return result.failure;
}

const CAUSES = ['redesign', 'login', 'another parcel', 'bad amounts', 'busy', 'slow'] as const;
const FAILURES = sized({ quick: 600, slow: 40_002 });

test(`${FAILURES} failures with ${CAUSES.length} causes, on pages that differ from item to item, are ${CAUSES.length} groups`, async () => {
  const groups = new FailureGroups();
  const shapes = new Set<string>();
  for (let number = 0; number < FAILURES; number += 1) {
    const cause = CAUSES[number % CAUSES.length] ?? '';
    const seen = await failureOf(cause, number);
    if (cause === 'redesign') shapes.add(seen.page ?? '');
    const itemId = `${cause} ${number}`;
    groups.add(seen, newFailure(itemId, seen, { startedAt: number, durationMs: 1, kept: [] }));
  }
  assert.ok(shapes.size > 14, `pages of one cause differ: ${shapes.size} kinds`);
  const found = groups.commonest(1000);
  assert.deepEqual(
    found.map(({ count, examples }) => [examples[0]?.itemId.replace(/ \d+$/, ''), count]).sort(),
    CAUSES.map((cause) => [cause, FAILURES / CAUSES.length]).sort(),
    JSON.stringify(found, null, 2),
  );
});
