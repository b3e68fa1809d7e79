import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readSettings } from '../../deploy/aws/settings.ts';
import { DRAIN_SECONDS, LEASE_SECONDS } from '../../deploy/aws/timing.ts';
import { loadConfig } from '../../src/config.ts';
import { blocksOf, isShown, openGuide } from './guide.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = readFileSync(new URL('../../docs/aws.md', import.meta.url), 'utf8');

test('a reader without an account can try it as the page says', { timeout: 600_000 }, async () => {
  const [emulators, ...others] = blocksOf(PAGE);
  assert.ok(emulators?.kind === 'terminal' && others.length >= 3, 'the blocks were not found');
  const guide = openGuide();
  const { stdout: folder } = await guide.run(`ln -s ${ROOT}/test ${ROOT}/node_modules . && pwd`);
  await startEmulators(emulators.command, folder.trim());
  // `tee` writes to the terminal first.
  await guide.run('until grep -qs RESULTS_BUCKET aws.env; do sleep 0.05; done');
  for (const block of others) {
    if (block.kind === 'terminal') {
      await guide.start(block.command);
      continue;
    }
    const isServed = others.indexOf(block) > others.findIndex(({ kind }) => kind === 'terminal');
    for (const { command, expected } of block.steps) {
      const there = isServed ? `export TRAWL_URL=http://127.0.0.1:8080; ${command}` : command;
      const { code, stdout, stderr } = await guide.run(there);
      assert.equal(code, 0, `$ ${command}\n${stdout}${stderr}`);
      assert.ok(isShown(expected, stdout), `$ ${command}\n\nshown:\n${expected}\nwritten:\n${stdout}`);
    }
  }
});

/** Resolves when the emulators have printed everything that has to be set. */
async function startEmulators(command: string, folder: string): Promise<void> {
  // The emulators of the whole run are not the ones that the page starts.
  const {
    AWS_ENDPOINT_URL_DYNAMODB: _dynamo,
    AWS_ENDPOINT_URL_SQS: _sqs,
    AWS_ENDPOINT_URL_S3: _s3,
    ...env
  } = process.env;
  const child = spawn('bash', ['-c', command], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { pid } = child;
  after(() => {
    if (pid !== undefined && child.exitCode === null) process.kill(-pid, 'SIGKILL');
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  createInterface(child.stdout)
    .on('line', (line) => {
      if (line.startsWith('export WEB_SCRAPER_RESULTS_BUCKET=')) resolve();
    })
    .on('close', () => reject(new Error(`it ended: ${command}`)));
  await promise;
}

test('the numbers that the page names match the code and the stack', () => {
  const aws = { TRAWL_BACKEND: 'aws', WEB_SCRAPER_QUEUE_URL: 'https://sqs.us-east-1.amazonaws.com/1/trawl' };
  const { leaseMs, slots } = loadConfig({}, aws, '/no-such.config.ts');
  assert.match(
    PAGE,
    new RegExp(`\\| \`TRAWL_LEASE_MS\`, \`TRAWL_SLOTS\` \\| ${leaseMs.toLocaleString('en')} and ${slots},`),
  );
  assert.ok(PAGE.includes(`the stack: ${(LEASE_SECONDS * 1000).toLocaleString('en')}, and \`httpSlots\``));
  assert.ok(PAGE.includes(`the stack: ${(DRAIN_SECONDS * 1000).toLocaleString('en')}, out of`));
  const settings = readSettings(() => undefined);
  const { maxWorkers } = settings;
  assert.equal(settings.slots.http, slots);
  assert.ok(PAGE.includes(`\`TRAWL_SLOTS\` (${slots}; browsers ${settings.slots.browser})`));
  const most = `\`maxHttpWorkers\` (${maxWorkers.http}) and \`maxBrowserWorkers\` (${maxWorkers.browser})`;
  assert.ok(PAGE.replaceAll(/\s+/g, ' ').includes(most), most);
  assert.ok(PAGE.includes(`it must be ${maxWorkers.http * slots}.`));
});

test('every npm script that the documentation names exists', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const pages = [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'docs/aws.md',
    'docs/operations.md',
  ];
  const named = pages.flatMap((page) =>
    [...readFileSync(`${ROOT}/${page}`, 'utf8').matchAll(/\bnpm run ([a-z]+)/g)].map(([, script]) => `${script}`),
  );
  assert.ok(named.length >= 10, 'the scripts were not found');
  assert.deepEqual([...new Set(named)].filter((script) => !(script in scripts)).sort(), []);
});

test('the table of cost has a figure in every cell', () => {
  const table = PAGE.slice(PAGE.indexOf('<!-- cost:begin -->'), PAGE.indexOf('<!-- cost:end -->'));
  const rows = table.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| operation'));
  assert.equal(rows.length, 11);
  for (const row of rows) assert.match(row, /^\| [^|]+ \| \$?\d/, row);
  assert.ok(!table.includes('…'));
});
