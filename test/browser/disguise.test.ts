import assert from 'node:assert/strict';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { after, test } from 'node:test';
import { brandList } from '../../src/domain/brands.ts';
import { DISGUISED_DESKTOP, type Disguise } from '../../src/egress/browser/disguise.ts';
import { trustArgs } from '../../src/egress/browser/launch-args.ts';
import { closeBrowsers, openBrowser } from './open-browser.ts';
import { CERTIFICATE, startSite, toSites } from './sites.ts';

after(closeBrowsers);

const PHOENIX: Disguise = { locale: 'en-US', timezone: 'America/Phoenix', userAgent: null, isMobile: false };

/** What simple checks for automation look at: each names what it found wrong. Run in the page, and in a frame. */
const CHECKS = `(async () => {
  const found = [];
  const check = (name, isWrong) => { if (isWrong) found.push(name); };
  const native = (f) => /\\[native code\\]/.test(Function.prototype.toString.call(f));
  const getter = (object, name) => Object.getOwnPropertyDescriptor(object, name)?.get;
  check('webdriver', navigator.webdriver !== false || Object.keys(navigator).includes('webdriver'));
  check('user agent', /headless/i.test(navigator.userAgent + navigator.appVersion));
  const hints = navigator.userAgentData;
  check('no client hints', hints === undefined);
  const high = await hints?.getHighEntropyValues(['fullVersionList', 'platform', 'platformVersion', 'architecture', 'bitness', 'model']);
  check('client hints', /headless/i.test(JSON.stringify([hints?.brands, high])));
  check('brands', !hints?.brands.some(({ brand }) => brand === 'Google Chrome') || hints.brands.length !== 3);
  const [, major] = /Chrome\\/(\\d+)/.exec(navigator.userAgent) ?? [];
  check('versions', hints?.brands.find(({ brand }) => brand === 'Chromium')?.version !== major);
  check('full versions', high?.fullVersionList.find(({ brand }) => brand === 'Chromium')?.version.split('.')[0] !== major);
  check('system', !navigator.userAgent.includes(hints?.platform) || !navigator.platform.startsWith(hints?.platform));
  check('plugins', navigator.plugins.length !== 5 || !(navigator.plugins instanceof PluginArray));
  check('plugin', !(navigator.plugins[0] instanceof Plugin) || navigator.plugins.namedItem('PDF Viewer')?.name !== 'PDF Viewer');
  check('plugin list', [...navigator.plugins].map(({ length }) => length).join() !== '2,2,2,2,2');
  check('mime types', navigator.mimeTypes.length !== 2 || navigator.mimeTypes[0].enabledPlugin !== navigator.plugins[0]);
  check('pdf', navigator.pdfViewerEnabled !== true);
  check('chrome', typeof window.chrome?.loadTimes !== 'function' || typeof window.chrome?.app !== 'object');
  check('languages', navigator.languages.join() !== 'en-US,en' || navigator.language !== 'en-US');
  check('notifications', Notification.permission === 'denied' && (await navigator.permissions.query({ name: 'notifications' })).state === 'prompt');
  check('window', window === top && (outerHeight <= innerHeight || outerWidth < innerWidth || screen.height < outerHeight));
  check('connection', navigator.connection?.rtt === 0);
  check('globals', Object.getOwnPropertyNames(window).some((name) => /playwright|puppeteer|__pw|cdc_|selenium|domAutomation/i.test(name)));
  check('patched getters', !native(getter(Navigator.prototype, 'plugins')) || !native(getter(Notification, 'permission')));
  check('own properties', Object.getOwnPropertyNames(navigator).length > 0);
  const gl = document.createElement('canvas').getContext('webgl');
  const info = gl?.getExtension('WEBGL_debug_renderer_info');
  check('graphics', info && /SwiftShader|Google Inc. \\(Google\\)/.test(gl.getParameter(0x9245) + gl.getParameter(0x9246)));
  check('patched graphics', gl && !native(gl.getParameter));
  // A protocol client that looks at what is logged would call these.
  let looked = 0;
  const error = new Error();
  Object.defineProperty(error, 'stack', { get: () => (looked += 1, '') });
  console.debug(error, Object.defineProperty({}, 'id', { get: () => (looked += 1) }));
  check('console', looked > 0);
  return found;
})()`;

const WORKER: RequestListener = (_, response) => {
  const code =
    'postMessage([navigator.userAgent, JSON.stringify(navigator.userAgentData.brands), Intl.DateTimeFormat().resolvedOptions().timeZone])';
  response.writeHead(200, { 'content-type': 'text/javascript' }).end(code);
};

test('a simple check finds nothing, in a page, in a frame of another site, and in a pop-up', async (t) => {
  const page = `<body><iframe src="https://other.test:PORT/frame"></iframe></body>`;
  let port = 0;
  const served: RequestListener = (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(page.replace('PORT', `${port}`));
  const site = await startSite(t, { '/': served, '/frame': '<body>x</body>', '/popup': '<body>x</body>' }, true);
  port = site.port;
  const look = async (disguise: Disguise | null) => {
    await using open = await openBrowser('127.0.0.2', { lookup: toSites }, trustArgs(CERTIFICATE.cert));
    await using visitor = await open.openContext({ way: { disguise }, options: DISGUISED_DESKTOP });
    const tab = await visitor.newPage();
    await tab.goto(`${site.origin}/`, { waitUntil: 'networkidle' });
    const [popup] = await Promise.all([visitor.context.waitForEvent('page'), tab.evaluate("void open('/popup')")]);
    await visitor.way.attach(await visitor.context.newCDPSession(popup), popup.url());
    await popup.reload();
    const [main, frame] = tab.frames();
    return await Promise.all([main, frame, popup].map((each) => each?.evaluate(CHECKS)));
  };
  assert.deepEqual(await look(PHOENIX), [[], [], []]);
  const [bare] = await look(null);
  assert.ok(Array.isArray(bare));
  for (const name of ['user agent', 'client hints', 'plugins', 'chrome']) assert.ok(bare.includes(name), `${bare}`);
});

test('headers, scripts and workers agree with each other, and with the location of the proxy', async (t) => {
  const seen: IncomingHttpHeaders[] = [];
  const noted: RequestListener = (request, response) => {
    seen.push(request.headers);
    response.writeHead(200, { 'content-type': 'text/html' }).end('<body>x</body>');
  };
  const site = await startSite(t, { '/': noted, '/data': noted, '/worker.js': WORKER }, true);
  await using open = await openBrowser('127.0.0.2', { lookup: toSites }, trustArgs(CERTIFICATE.cert));
  const disguise = { ...PHOENIX, locale: 'de-DE', timezone: 'Europe/Berlin' };
  await using visitor = await open.openContext({ way: { disguise }, options: DISGUISED_DESKTOP });
  const tab = await visitor.newPage();
  await tab.goto(`${site.origin}/`);
  await tab.evaluate("fetch('/data').then((answer) => answer.text())");
  const major = Number.parseInt(open.browser.version(), 10);
  for (const headers of seen) {
    assert.equal(headers['sec-ch-ua'], brandList('Google Chrome', major));
    assert.match(headers['user-agent'] ?? '', new RegExp(` Chrome/${major}\\.0\\.0\\.0 Safari/537\\.36$`));
    assert.equal(headers['accept-language'], 'de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7');
  }
  assert.equal(seen.length, 2);
  const here = await tab.evaluate(
    "[navigator.language, navigator.languages.join(), Intl.DateTimeFormat().resolvedOptions().timeZone, (1.5).toLocaleString(), innerWidth + 'x' + innerHeight]",
  );
  assert.deepEqual(here, ['de-DE', 'de-DE,de,en-US,en', 'Europe/Berlin', '1,5', '1440x789']);
  const worker = await tab.evaluate(
    "new Promise((done) => { new Worker('/worker.js').onmessage = ({ data }) => done(data) })",
  );
  assert.deepEqual(worker, [
    seen[0]?.['user-agent'],
    await tab.evaluate('JSON.stringify(navigator.userAgentData.brands)'),
    'Europe/Berlin',
  ]);
});
