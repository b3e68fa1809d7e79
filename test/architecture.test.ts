import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkBackends } from './support/backend-rule.ts';
import { checkEnvironment } from './support/environment-rule.ts';
import { checkImports } from './support/import-rules.ts';
import { filesLoadedFrom } from './support/loaded-files.ts';
import { parse, readSources, show } from './support/syntax.ts';

const FILES = parse(readSources(['src', 'scrapers', 'demo', 'test', 'bench', 'docs', 'deploy', 'examples']));

test('who imports whom is what the table says, and no file imports itself in the end', () => {
  assert.ok(FILES.length > 50, 'the files were not found');
  assert.equal(show(checkImports(FILES)), '');
});

test('only config.ts reads the environment', () => {
  assert.equal(show(checkEnvironment(FILES)), '');
});

test('which backend it is, and where results are kept, is asked only in config.ts and in the tables of src/main', () => {
  assert.equal(show(checkBackends(FILES)), '');
});

test('a worker process loads nothing of the controller, on any backend, nor does its heartbeat thread', () => {
  for (const entry of ['src/main/worker-child.ts', 'src/main/heartbeat.ts']) {
    const loaded = filesLoadedFrom(FILES, entry);
    assert.ok(loaded.includes('src/main/embedded-backend.ts') && loaded.includes('src/main/aws-backend.ts'), entry);
    assert.deepEqual(
      loaded.filter((path) => /^src\/(?:controller|cli)\//.test(path)),
      [],
      entry,
    );
  }
});

test('what a process loads is found by every kind of import but those of types', () => {
  const files = parse([
    { path: 'src/main/a.ts', text: "import { b } from './b.ts';\nimport type { T } from './types.ts';" },
    { path: 'src/main/b.ts', text: "export { c } from './c.ts';\nexport type { T } from './types.ts';" },
    { path: 'src/main/c.ts', text: "export const later = () => import('./d.ts');" },
    { path: 'src/main/d.ts', text: "import { type T } from './e.ts';\nnew URL('./thread.ts', import.meta.url);" },
    { path: 'src/main/e.ts', text: 'export type T = 1;' },
    { path: 'src/main/thread.ts', text: '' },
    { path: 'src/main/types.ts', text: 'export type T = 1;' },
  ]);
  const names = ['a', 'b', 'c', 'd', 'e'].map((name) => `src/main/${name}.ts`);
  assert.deepEqual(filesLoadedFrom(files, 'src/main/a.ts'), names);
});

/** Checks one made-up file, beside others that it may import. */
function planted(path: string, text: string): string {
  const files = parse([{ path, text }]);
  return show([...checkImports(files), ...checkEnvironment(files), ...checkBackends(files)]);
}

const PLANTED: readonly [what: string, path: string, text: string, finding: string][] = [
  [
    'a port in domain',
    'src/domain/a.ts',
    "import type { Clock } from '../ports/clock.ts';",
    'src/domain/a.ts:1 domain imports ports: it may import nothing but itself',
  ],
  [
    'a node module in domain',
    'src/domain/a.ts',
    "\nimport { createHash } from 'node:crypto';",
    'src/domain/a.ts:2 domain imports the package node:crypto, which it may not',
  ],
  [
    'a package in ports',
    'src/ports/a.ts',
    "import { z } from 'zod';",
    'src/ports/a.ts:1 ports imports the package zod, which it may not',
  ],
  [
    'Playwright in ports, not only its types',
    'src/ports/a.ts',
    "import type { Browser } from 'playwright-core';\nimport { chromium } from 'playwright-core';",
    'src/ports/a.ts:2 ports loads playwright-core: it may import its types only',
  ],
  [
    'a browser outside of sessions and the kit',
    'src/worker/a.ts',
    "import type { Page } from 'playwright-core';",
    'src/worker/a.ts:1 worker imports playwright-core: only sessions, scraping, ports may',
  ],
  [
    'the controller in the worker',
    'src/worker/a.ts',
    "export { submit } from '../controller/jobs/submit.ts';",
    'src/worker/a.ts:1 worker imports controller/jobs: it may import itself and domain, ports, scraping',
  ],
  [
    'one adapter in another',
    'src/adapters/embedded/a.ts',
    "import { ledger } from '../memory/ledger.ts';",
    'src/adapters/embedded/a.ts:1 adapters/embedded imports adapters/memory: adapters do not know each other; move what both need to domain or ports',
  ],
  [
    'an adapter in the controller, by a type',
    'src/controller/jobs/a.ts',
    "type A = import('../../adapters/embedded/ledger.ts').Ledger;",
    'src/controller/jobs/a.ts:1 controller/jobs names the adapter adapters/embedded: only src/main does; take the port as an argument',
  ],
  [
    'an adapter in the command line, at run time',
    'src/cli/a.ts',
    "export async function run() {\n  await import('../adapters/memory/ledger.ts');\n}",
    'src/cli/a.ts:2 cli names the adapter adapters/memory: only src/main does; take the port as an argument',
  ],
  [
    'an adapter as the entry of a thread',
    'src/worker/a.ts',
    "const entry = new URL('../adapters/system/clock.ts', import.meta.url);",
    'src/worker/a.ts:1 worker names the adapter adapters/system: only src/main does; take the port as an argument',
  ],
  [
    'the controller in the command line',
    'src/cli/a.ts',
    "import { submit } from '../controller/jobs/submit.ts';",
    'src/cli/a.ts:1 cli imports controller/jobs: it may import itself and domain, contract, config.ts, main, demo',
  ],
  [
    'the engine, and with it a ledger, in the command line',
    'src/cli/a.ts',
    "import type { Engine } from '../main/engine.ts';",
    'src/cli/a.ts:1 cli imports src/main/engine.ts: import src/main/controller.ts instead',
  ],
  [
    'a command in the composition root',
    'src/main/a.ts',
    "const entry = new URL('../cli/main.ts', import.meta.url);",
    'src/main/a.ts:1 main imports cli: it may import itself and domain, ports, contract, adapters/*, egress, sessions, scraping, worker, controller/*, runs, config.ts',
  ],
  [
    'the configuration in a library',
    'src/scraping/a.ts',
    "import { readConfig } from '../config.ts';",
    'src/scraping/a.ts:1 scraping imports config.ts: it may import itself and domain, ports, egress, sessions',
  ],
  [
    'a test helper in the product',
    'src/worker/a.ts',
    "import { fakeClock } from '../../test/support/fake-clock.ts';",
    'src/worker/a.ts:1 worker imports test: it may import itself and domain, ports, scraping',
  ],
  [
    'the engine in a scraper',
    'scrapers/az/a.ts',
    "import type { Ledger } from '../../src/ports/ledger.ts';",
    'scrapers/az/a.ts:1 scrapers imports ports: it may import nothing but itself',
  ],
  [
    'a package of its own in a scraper',
    'scrapers/az/a.ts',
    "import { load } from 'cheerio';",
    'scrapers/az/a.ts:1 scrapers imports the package cheerio, which it may not',
  ],
  [
    'the engine in the demo county',
    'demo/a.ts',
    "import { submit } from '../src/controller/jobs/submit.ts';",
    'demo/a.ts:1 demo imports controller/jobs: it may import nothing but itself',
  ],
  [
    'SQLite outside of its adapter',
    'src/controller/jobs/a.ts',
    "import { DatabaseSync } from 'node:sqlite';",
    'src/controller/jobs/a.ts:1 controller/jobs imports node:sqlite: only adapters/embedded may',
  ],
  [
    'AWS outside of its adapter',
    'src/main/engine.ts',
    "import { SQSClient } from '@aws-sdk/client-sqs';",
    'src/main/engine.ts:1 main imports @aws-sdk/client-sqs: only adapters/aws may',
  ],
  [
    'what the SDK stands on in the worker',
    'src/worker/a.ts',
    "import { NodeHttpHandler } from '@smithy/node-http-handler';",
    'src/worker/a.ts:1 worker imports @smithy/node-http-handler: only adapters/aws may',
  ],
  [
    'the CDK in the product',
    'src/adapters/aws/a.ts',
    "import { Queue } from 'aws-cdk-lib/aws-sqs';",
    'src/adapters/aws/a.ts:1 adapters/aws imports aws-cdk-lib/aws-sqs: only deploy may',
  ],
  [
    'a neighbour of what the stack may know of the adapter',
    'deploy/aws/a.ts',
    "import { openAwsClients } from '../../src/adapters/aws/clients.ts';",
    'deploy/aws/a.ts:1 deploy names the adapter adapters/aws: only src/main does; take the port as an argument',
  ],
  [
    'the engine in the stack',
    'deploy/aws/a.ts',
    "import { Controller } from '../../src/controller/engine/controller.ts';",
    'deploy/aws/a.ts:1 deploy imports controller/engine: it may import itself and domain',
  ],
  [
    'the API in a room that it builds on',
    'src/controller/feed/a.ts',
    "import { presentItem } from '../api/present-item.ts';",
    'src/controller/feed/a.ts:1 controller/feed imports controller/api: it may import itself and domain, ports, contract, controller/engine, controller/jobs, controller/runs',
  ],
  [
    'the controller in the contract',
    'src/contract/a.ts',
    "import { submit } from '../controller/jobs/submit.ts';",
    'src/contract/a.ts:1 contract imports controller/jobs: it may import itself and domain',
  ],
  [
    'a file of the controller that is in no room',
    'src/controller/a.ts',
    'export const x = 1;',
    'src/controller/a.ts:1 controller/a.ts is not in the import table: say there what it may import, and who may import it',
  ],
  [
    'a new folder',
    'src/utils/a.ts',
    'export const x = 1;',
    'src/utils/a.ts:1 utils is not in the import table: say there what it may import, and who may import it',
  ],
  [
    'a new file beside config.ts',
    'src/helpers.ts',
    'export const x = 1;',
    'src/helpers.ts:1 helpers.ts is not in the import table: say there what it may import, and who may import it',
  ],
  [
    'an adapter without a folder',
    'src/adapters/a.ts',
    'export const x = 1;',
    'src/adapters/a.ts:1 adapters/a.ts is not in the import table: say there what it may import, and who may import it',
  ],
  [
    'a path out of the project',
    'src/worker/a.ts',
    "import { x } from '../../../elsewhere/x.ts';",
    'src/worker/a.ts:1 imports .., which is not in the import table',
  ],
  [
    'an import by a computed name',
    'src/controller/jobs/a.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    'export const load = (name: string) => import(`../adapters/${name}/ledger.ts`);',
    'src/controller/jobs/a.ts:1 imports a computed name, which nobody can check: write the path out',
  ],
  [
    'an import by require',
    'src/controller/jobs/a.ts',
    "const ledger = require('../../adapters/embedded/ledger.ts');",
    'src/controller/jobs/a.ts:1 controller/jobs names the adapter adapters/embedded: only src/main does; take the port as an argument',
  ],
  [
    'the environment in an adapter',
    'src/adapters/aws/a.ts',
    'export const url = process.env.QUEUE_URL;',
    'src/adapters/aws/a.ts:1 reads the environment: only src/config.ts does; take the value as an argument',
  ],
  [
    'the environment by another door',
    'src/cli/a.ts',
    "import { env } from 'node:process';",
    'src/cli/a.ts:1 reads the environment: only src/config.ts does; take the value as an argument',
  ],
  [
    'the environment taken apart',
    'src/cli/a.ts',
    'const { argv, env: all } = process;',
    'src/cli/a.ts:1 reads the environment: only src/config.ts does; take the value as an argument',
  ],
  [
    'the environment by name',
    'scrapers/az/a.ts',
    "export const key = globalThis.process['env'].KEY;",
    'scrapers/az/a.ts:1 reads the environment: only src/config.ts does; take the value as an argument',
  ],
  [
    'a question for the backend',
    'src/cli/a.ts',
    "export const f = (config: Config) => config.backend.kind === 'aws';",
    'src/cli/a.ts:1 asks for the kind of backend: make it a member of the module in src/main/backends.ts',
  ],
  [
    'a switch over where results are kept',
    'src/main/a.ts',
    "export function f({ results }: Config) {\n  switch (results.kind) {\n    case 's3':\n  }\n}",
    'src/main/a.ts:2 asks for the kind of results: make it a member of the module in src/main/results-backends.ts',
  ],
];

for (const [what, path, text, finding] of PLANTED) {
  test(`${what} is found`, () => assert.equal(planted(path, text), finding));
}

test('what the table allows is not reported, nor is a word in a comment or in a text', () => {
  const allowed: readonly [path: string, text: string][] = [
    ['src/domain/a.ts', "import { z } from 'zod';\nimport { b } from './b.ts';"],
    [
      'src/domain/a.ts',
      "// import { x } from '../ports/clock.ts';\nconst text = \"import { x } from '../ports/x.ts'\";",
    ],
    ['src/adapters/aws/a.ts', "import type { Clock } from '../../ports/clock.ts';\nimport { b } from './b.ts';"],
    [
      'src/main/engine.ts',
      "import { ledger } from '../adapters/memory/ledger.ts';\nimport { submit } from '../controller/jobs/submit.ts';",
    ],
    ['src/cli/a.ts', "import { open } from '../main/controller.ts';\nimport { readConfig } from '../config.ts';"],
    ['src/scraping/registry.ts', 'export const load = (path: string) => import(path);'],
    ['scrapers/az/a.ts', "import { z } from 'trawl/scraper';\nimport { createHash } from 'node:crypto';"],
    ['test/domain/a.ts', "import { ledger } from '../../src/adapters/memory/ledger.ts';\nprocess.env.X = '1';"],
    ['bench/a.ts', "import { DatabaseSync } from 'node:sqlite';\nimport { x } from '../test/support/x.ts';"],
    [
      'deploy/aws/a.ts',
      "import { TABLE_SCHEMA } from '../../src/adapters/aws/table-schema.ts';\nimport { Queue } from 'aws-cdk-lib/aws-sqs';",
    ],
    ['src/config.ts', 'export const url = process.env.QUEUE_URL;'],
    ['src/domain/a.ts', 'export const of = (session: { env: string }) => session.env;'],
  ];
  for (const [path, text] of allowed) assert.equal(planted(path, text), '', path);
});

test('a circle of imports is told file by file, types included', () => {
  const files = parse([
    { path: 'src/domain/a.ts', text: "import { b } from './b.ts';" },
    { path: 'src/domain/b.ts', text: "\nimport type { C } from './c.ts';" },
    { path: 'src/domain/c.ts', text: "export * from './a.ts';" },
    { path: 'src/domain/d.ts', text: "import { a } from './a.ts';" },
  ]);
  assert.equal(
    show(checkImports(files)),
    'src/domain/c.ts:1 closes a circle of imports: src/domain/a.ts → src/domain/b.ts → src/domain/c.ts → src/domain/a.ts; move what both need to a third file',
  );
});

test('a file that imports itself is a circle too, and a thread that a file starts is none', () => {
  const itself = parse([{ path: 'src/domain/a.ts', text: "import { a } from './a.ts';" }]);
  assert.match(show(checkImports(itself)), /closes a circle of imports: src\/domain\/a\.ts → src\/domain\/a\.ts/);
  const thread = parse([
    { path: 'src/worker/a.ts', text: "export const entry = new URL('./b.ts', import.meta.url);" },
    { path: 'src/worker/b.ts', text: "import { entry } from './a.ts';" },
  ]);
  assert.equal(show(checkImports(thread)), '');
});
