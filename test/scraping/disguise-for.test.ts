import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserSchema } from '../../src/domain/browser-policy.ts';
import { overrideFor } from '../../src/egress/browser/disguise.ts';
import type { Exit } from '../../src/egress/web.ts';
import { contextOptions } from '../../src/scraping/browser/context-options.ts';
import { disguiseFor } from '../../src/scraping/browser/disguise-for.ts';

const PHOENIX = { country: 'us', state: 'az', city: 'Phoenix' };

async function placeFor(policy: Parameters<typeof browserSchema.parse>[0], exit: Exit): Promise<string | null> {
  const disguise = await disguiseFor(browserSchema.parse(policy), exit);
  return disguise === null ? null : `${disguise.locale} ${disguise.timezone}`;
}

test('a disguised browser is where its proxy is, as far as the proxy can choose that, unless the policy says otherwise', async () => {
  const residential = { dialer: 'residential', session: 's', geo: PHOENIX };
  assert.equal(await placeFor({ stealth: true }, residential), 'en-US America/Phoenix');
  assert.equal(await placeFor({ stealth: true }, { ...residential, dialer: 'datacenter' }), 'en-US America/New_York');
  assert.equal(await placeFor({ stealth: true }, { dialer: 'direct', session: 's' }), 'en-US null');
  const chosen = { stealth: true, locale: 'fr-CA', timezone: 'America/Montreal' };
  assert.equal(await placeFor(chosen, residential), 'fr-CA America/Montreal');
  assert.equal(await placeFor({}, residential), null);
});

test("Playwright's own options for language, time and user agent are left out with a disguise", async () => {
  const policy = { device: 'Pixel 7', locale: 'de-DE', timezone: 'Europe/Berlin' };
  const names = async (stealth: boolean) =>
    Object.keys(await contextOptions({ browser: browserSchema.parse({ ...policy, stealth }) }));
  const own = ['locale', 'timezoneId', 'userAgent'];
  const [open, disguised] = [await names(false), await names(true)];
  assert.deepEqual(
    own.map((name) => [open.includes(name), disguised.includes(name)]),
    own.map(() => [true, false]),
  );
  assert.ok(disguised.includes('isMobile') && disguised.includes('viewport'));
});

const ABOUT = {
  userAgent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.1.2 Safari/537.36',
  product: 'HeadlessChrome/156.0.1.2',
};

test('a device keeps its name and gets the version of the browser', async () => {
  const device = await disguiseFor(browserSchema.parse({ stealth: true, device: 'Pixel 7' }), {
    dialer: 'direct',
    session: '',
  });
  assert.ok(device !== null);
  const override = JSON.stringify(overrideFor(ABOUT, device));
  assert.match(override, /Android 14; Pixel 7\).* Chrome\/156\.0\.0\.0 Mobile/);
  assert.match(override, /"platform":"Android","platformVersion":"14".*"model":"Pixel 7","mobile":true/);
  assert.doesNotMatch(override, /Headless/);
});

test('a browser that is not of the Chromium family has no client hints', async () => {
  const device = await disguiseFor(browserSchema.parse({ stealth: true, device: 'iPhone 15' }), {
    dialer: 'direct',
    session: '',
  });
  assert.ok(device !== null);
  assert.deepEqual(Object.keys(overrideFor(ABOUT, device)), ['userAgent', 'acceptLanguage']);
});
