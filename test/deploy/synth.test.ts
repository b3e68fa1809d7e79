import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const PROJECT = join(import.meta.dirname, '..', '..');
const CDK = join(PROJECT, 'node_modules', 'aws-cdk', 'bin', 'cdk');

/** Port 9 discards: a request that goes out through such a proxy gets nowhere. */
const NOWHERE = 'http://127.0.0.1:9';
const COMPILED = { NODE_COMPILE_CACHE: join(PROJECT, 'node_modules', '.cache', 'trawl') };

test('cdk synth works without network, credentials, region or Docker, and has nothing to complain about', async () => {
  const room = await mkdtemp(join(tmpdir(), 'trawl-synth-'));
  try {
    const output = join(room, 'out');
    // Nothing of the environment but Node itself: no AWS_…, no home with credentials, no docker on the path.
    const env = { PATH: dirname(process.execPath), HOME: room, HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, ...COMPILED };
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [CDK, 'synth', '--quiet', '--no-color', '--output', output],
      { cwd: join(PROJECT, 'deploy', 'aws'), env, timeout: 300_000 },
    );
    assert.equal(`${stdout}${stderr}`.trim(), '');
    const { Resources } = JSON.parse(readFileSync(join(output, 'Trawl.template.json'), 'utf8'));
    assert.ok(Object.keys(Resources).length > 50);
    const images = readdirSync(output).filter((name) => name.startsWith('asset.'));
    assert.equal(images.length, 2);
    for (const image of images) {
      const files = readdirSync(join(output, image));
      assert.deepEqual(files.sort(), IN_THE_IMAGES, 'what goes to Docker, as .dockerignore has it');
      assert.deepEqual(readdirSync(join(output, image, 'deploy', 'aws')), ['Dockerfile']);
      assert.ok(existsSync(join(output, image, 'src', 'cli', 'main.ts')));
    }
  } finally {
    await rm(room, { recursive: true });
  }
});

const IN_THE_IMAGES = [
  ...[
    '.dockerignore',
    '.npmrc',
    'LICENSE',
    'bin',
    'demo',
    'deploy',
    'package-lock.json',
    'package.json',
    'scrapers',
    'src',
  ],
];
