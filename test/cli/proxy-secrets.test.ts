import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { byAddress, startTarget } from '../egress/proxy-support.ts';
import { startProxy } from '../models/proxy-server.ts';
import { startTrawl, tempFolder, trawl, writeLines } from './trawl.ts';

/** Planted, and looked for in everything that leaves the process. */
const SECRETS = {
  customer: 'hl_c0ffee01',
  datacenter: 'dc pass/word+1',
  residential: 'r3sidential&pass',
  unlocker: 'un%lock=er?7',
  customUser: 'custom-user-9',
  customPassword: 'p@ss:w0rd,list',
};

/** The ways they may be written: raw, in a URL, in a form, and in Base64 alone or after a user name of any length. */
function formsOf(secret: string): readonly string[] {
  const behind = [0, 1, 2].map((before) => {
    const text = Buffer.from('x'.repeat(before) + secret).toString('base64');
    // The characters that depend on what is before and after are left out.
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + secret.length) * 8) / 6));
  });
  return [
    ...new Set([secret, encodeURIComponent(secret), encodeURI(secret), JSON.stringify(secret).slice(1, -1), ...behind]),
  ];
}

function assertNone(where: string, text: string): void {
  for (const [name, secret] of Object.entries(SECRETS)) {
    for (const form of formsOf(secret)) assert.ok(!text.includes(form), `${where} has ${name} as ${form}`);
  }
}

function textOf(file: string): string {
  const bytes = readFileSync(file);
  return (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString('latin1');
}

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) yield join(entry.parentPath, entry.name);
  }
}

/** Arguments of all processes of this machine, those of the workers among them. */
function processArguments(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    })
    .join('\n');
}

test('credentials of proxies are in no log, file, result, error, metric, argument or answer', async (t) => {
  const target = await startTarget(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>page</h1>');
  });
  const proxy = await startProxy(null);
  t.after(() => proxy.close());
  // It repeats everything it was sent, whether it fails or not.
  proxy.answer = ({ user, password, headers }) => {
    const echo = { 'x-echo': `${user}:${password}`, 'x-echo-raw': headers['proxy-authorization'] ?? '' };
    if (user?.includes('-zone-homes') === true)
      return { status: 407, headers: { ...echo, 'x-brd-error': `${user} ${password}` } };
    if (user?.includes('-zone-web') === true)
      return { status: 502, headers: { ...echo, 'x-brd-error': `${user} ${password}` } };
    return null;
  };
  const custom = `http://${SECRETS.customUser}:${encodeURIComponent(SECRETS.customPassword)}@127.0.0.1:${proxy.port}`;
  const secretsFile = writeLines(tempFolder(), 'secrets', [
    JSON.stringify({ proxy_web_unlocker_password: SECRETS.unlocker, proxy_customer: SECRETS.customer }),
  ]);
  chmodSync(secretsFile, 0o600);
  const environment = {
    ...{ TRAWL_LOG_TO: 'stderr', TRAWL_LOG_LEVEL: 'debug', TRAWL_ALLOW_ADDRESSES: 'loopback' },
    ...{ TRAWL_SECRETS_FILE: secretsFile, PROXY_URL: `127.0.0.1:${proxy.port}`, PROXY_CUSTOM_URLS: custom },
    ...{ PROXY_DATACENTER_ZONE: 'dc', PROXY_DATACENTER_PASSWORD: SECRETS.datacenter },
    ...{ PROXY_RESIDENTIAL_ZONE: 'homes', PROXY_RESIDENTIAL_PASSWORD: SECRETS.residential },
    PROXY_WEB_UNLOCKER_ZONE: 'web',
    TRAWL_ROUTES: `https://example.com=${byAddress(target.http).replace(/\/$/, '')}`,
  };
  const dataDir = join(tempFolder(), 'data');
  const server = startTrawl(['serve', '--port', '0', '--data-dir', dataDir], environment);
  const [, url = ''] = await server.shows(/"url":"([^"]+)"/);
  const read = async (path: string) => (await fetch(`${url}${path}`)).text();
  const answers: string[] = [];
  for (const [type, failed] of [
    ['datacenter', 0],
    ['custom', 0],
    ['residential', 1],
    ['web_unlocker', 1],
  ] as const) {
    const made = await fetch(`${url}/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        job_id: type,
        scraper_id: 'example-http',
        items: [{ item_id: 'one', input: { url: byAddress(target.http) } }],
        execution_policy: { proxy: { type }, retries: { max_retries: 1, backoff_factor: 0 } },
      }),
    });
    answers.push(await made.text(), await read(`/jobs/${type}/events`));
    const job = await read(`/jobs/${type}`);
    assert.equal(JSON.parse(job).summary.failed, failed, job);
    for (const path of ['', '/status', '/items', '/items/one', '/failures', '/results', '/compliance']) {
      answers.push(await read(`/jobs/${type}${path}`));
    }
    for (const format of ['jsonl', 'csv']) answers.push(await read(`/jobs/${type}/export?format=${format}`));
    for (const artifact of ['html', 'metadata']) {
      answers.push(await read(`/jobs/${type}/items/one/download?artifact=${artifact}`));
    }
  }
  answers.push(await read('/metrics'), await read('/jobs'), await read('/hosts'), await read('/openapi.json'));
  const passwords = new Set(proxy.asked.map(({ password }) => password));
  for (const secret of [SECRETS.datacenter, SECRETS.residential, SECRETS.unlocker, SECRETS.customPassword]) {
    assert.ok(passwords.has(secret), 'the proxy gets the real one');
  }
  assertNone('the arguments of processes', processArguments());
  server.signalGroup('SIGTERM');
  const { stdout, stderr } = await server.ended;
  const doctor = await trawl(['doctor', '--json', '--data-dir', dataDir], environment);
  assert.match(doctor.stdout, /datacenter, at http:\/\/127\.0\.0\.1:\d+: https:\/\/example\.com\/ answered 200/);
  for (const [at, text] of answers.entries()) assertNone(`answer ${at}`, text);
  assertNone('the log', stdout + stderr);
  assertNone('doctor', doctor.stdout + doctor.stderr);
  for (const file of filesIn(dataDir)) assertNone(file, textOf(file));
});

test('trawl doctor tries each configured proxy, and reports what came back', async (t) => {
  const target = await startTarget(t);
  const [good, bad] = [await startProxy('sesame-1'), await startProxy('sesame-2')];
  t.after(() => good.close());
  t.after(() => bad.close());
  const environment = {
    ...{ TRAWL_ALLOW_ADDRESSES: 'loopback', PROXY_CUSTOMER: 'hl_1', PROXY_DATACENTER_ZONE: 'dc' },
    PROXY_CUSTOM_URLS: `http://ann:sesame-1@127.0.0.1:${good.port},http://ann:sesame-1@127.0.0.1:${bad.port}`,
    TRAWL_ROUTES: `https://example.com=${byAddress(target.http).replace(/\/$/, '')}`,
  };
  const { code, stdout } = await trawl(['doctor', '--json', '--data-dir', join(tempFolder(), 'data')], environment);
  const { checks }: { checks: { name: string; result: string; message: string }[] } = JSON.parse(stdout);
  const told = checks.filter(({ name }) => name === 'Proxies').map(({ result, message }) => `${result} ${message}`);
  assert.equal(told.length, 3, stdout);
  assert.ok(
    told.some((each) => /^warning datacenter: PROXY_DATACENTER_PASSWORD is not set/.test(each)),
    stdout,
  );
  const at = (port: number) => `at http://127.0.0.1:${port}: `;
  assert.ok(
    told.some((each) => each.startsWith(`ok custom, ${at(good.port)}https://example.com/ answered 200`)),
    stdout,
  );
  assert.ok(
    told.some((each) => each.startsWith(`problem custom, ${at(bad.port)}proxy_config: `)),
    stdout,
  );
  assert.equal(code, 3);
  const offline = await trawl(['doctor', '--offline', '--data-dir', join(tempFolder(), 'data')], environment);
  assert.match(offline.stdout, /Proxies: custom, at http:\/\/127\.0\.0\.1:\d+: not tried/);
});
