import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { checkSources } from './support/source-rules.ts';
import { parse, readSources, show } from './support/syntax.ts';

const SOURCES = readSources(['src', 'scrapers', 'demo', 'test', 'bench', 'docs', 'deploy']);

test('our sources keep our rules', () => {
  assert.ok(SOURCES.length > 50, 'the files were not found');
  assert.equal(show(checkSources(parse(SOURCES))), '');
});

test('importing all of domain and ports writes nothing, starts nothing and leaves nothing running', () => {
  const root = new URL('../', import.meta.url);
  const pure = SOURCES.filter(({ path }) => /^src\/(?:domain|ports)\//.test(path));
  const code = pure.map(({ path }) => `await import(${JSON.stringify(new URL(path, root).href)});`).join('\n');
  // Without permission to write, to start processes or to open connections; a timer or a handle would keep it alive.
  const limits = ['--permission', '--allow-fs-read=*', '--no-warnings', '--input-type=module'];
  const child = spawnSync(process.execPath, [...limits, '--eval', code], { encoding: 'utf8', timeout: 120_000 });
  assert.deepEqual([child.status, child.stdout, child.stderr], [0, '', '']);
});

const planted = (path: string, text: string): string => show(checkSources(parse([{ path, text }])));

/** Where it stands, and what is said of it from the line on. */
function isFound(path: string, text: string, finding: string): void {
  assert.equal(planted(path, text), `${path}:${finding}`, text);
}

test('any is found as a type, an assertion, an argument of a type and in a test', () => {
  const problem = '1 `any` switches the checks off: use the type itself, or `unknown` and a schema';
  const a = 'src/worker/a.ts';
  isFound(a, 'export function f(x: any) {}', problem);
  isFound(a, 'export const x = 1 as any;', problem);
  isFound(a, 'export const x = <any>1;', problem);
  isFound(a, 'export const x = new Map<string, any>();', problem);
  isFound(a, 'export type X = Record<string, any[]>;', problem);
  isFound('test/a.ts', 'export const f = (...all: any[]) => all;', problem);
  assert.equal(planted(a, "// any\nexport const any = 'as any';\nexport const x: unknown = any;"), '');
});

test('clocks, timers and chance are found wherever they come from', () => {
  const uses: readonly [code: string, name: string][] = [
    ['Date.now()', 'Date.now'],
    ["Date['now']()", 'Date.now'],
    ['[1].map(Date.now)', 'Date.now'],
    ['new Date()', 'the date of today'],
    ['new Date', 'the date of today'],
    ['Date()', 'the date of today'],
    ['Math.random()', 'Math.random'],
    ['performance.now()', 'performance.now'],
    ['crypto.randomUUID()', 'crypto.randomUUID'],
    ['process.hrtime.bigint()', 'process.hrtime'],
    ['AbortSignal.timeout(5)', 'AbortSignal.timeout'],
    ['setTimeout(f, 5)', 'setTimeout'],
    ['setInterval(f, 5)', 'setInterval'],
    ['setImmediate(f)', 'setImmediate'],
    ['[f].forEach(setImmediate)', 'setImmediate'],
    ['globalThis.setTimeout(f, 5)', 'globalThis.setTimeout'],
  ];
  const rest = 'is a clock, a timer or chance: take a Clock (src/ports/clock.ts) and ask it';
  for (const [code, name] of uses) {
    const text = `export function f() {\n  return ${code};\n}`;
    isFound('src/worker/heartbeat-thread.ts', text, `2 ${name} ${rest}`);
    isFound('src/adapters/memory/a.ts', text, `2 ${name} ${rest}`);
    assert.equal(planted('src/adapters/system/clock.ts', text), '', code);
    assert.equal(planted('test/a.ts', text), '', code);
  }
  const imports: readonly [code: string, name: string][] = [
    ["import { setTimeout as sleep } from 'node:timers/promises';", 'node:timers/promises'],
    ["import { clearTimeout } from 'timers';", 'timers'],
    ["import { createHash, randomUUID } from 'node:crypto';", 'randomUUID'],
    ["import { randomBytes as bytes } from 'crypto';", 'randomBytes'],
    ["import { performance as p } from 'node:perf_hooks';", 'performance'],
    ['const { random } = Math;', 'Math.random'],
  ];
  for (const [text, name] of imports) isFound('src/controller/a.ts', text, `1 ${name} ${rest}`);
});

test('a date that is given, a method of that name and a comment are no clocks', () => {
  const fine = [
    'export const iso = (at: number) => new Date(at).toISOString();',
    "import { createHash } from 'node:crypto';",
    'export interface Timers { setTimeout(f: () => void): void; now: number }',
    'export const start = (timers: { setTimeout(f: () => void): void }) => timers.setTimeout(() => {});',
    '// Date.now() and Math.random() are for others\nexport const text = "setTimeout";',
    'export const max = Math.max(1, 2);',
  ];
  for (const text of fine) assert.equal(planted('src/worker/a.ts', text), '', text);
});

test('SQL outside of its adapter is found in texts and in templates', () => {
  const statements = [
    "'SELECT id FROM jobs'",
    '`SELECT *\\n  FROM jobs`',
    "'select id from jobs where id = ?'",
    "'INSERT INTO jobs VALUES (?)'",
    "'insert or ignore into jobs values (?)'",
    "'UPDATE jobs SET status = ?'",
    "'update jobs set status = ?'",
    "'DELETE FROM jobs'",
    "'CREATE TABLE jobs (id INTEGER)'",
    "'create table jobs (id integer)'",
    "'CREATE UNIQUE INDEX i ON jobs (id)'",
    "'PRAGMA journal_mode = WAL'",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    '`SELECT ${columns} FROM ${table}`',
  ];
  for (const statement of statements) {
    const text = `export const sql = (columns: string, table: string) =>\n  ${statement};`;
    isFound('src/controller/a.ts', text, '2 SQL stands in src/adapters/embedded only: ask the ledger through its port');
    assert.equal(planted('src/adapters/embedded/a.ts', text), '');
    assert.equal(planted('test/a.ts', text), '');
  }
  const prose = [
    'Select items from a file',
    'update the job',
    'the set of updates',
    'deleted from the store',
    'FROM here',
  ];
  for (const text of prose) assert.equal(planted('src/cli/a.ts', `export const help = '${text}';`), '', text);
});

test('a file of more than four hundred lines is found', () => {
  const lines = (count: number) => 'export {};\n'.repeat(count);
  assert.equal(planted('src/worker/a.ts', lines(400)), '');
  isFound('src/worker/a.ts', lines(401), '401 401 lines, 400 at the most: give each subject a file of its own');
  assert.equal(planted('test/a.ts', lines(401)), '');
});

test('work that was put off is found, in code and in tests', () => {
  for (const word of ['TO', 'FIX'].map((start) => start + (start === 'TO' ? 'DO' : 'ME'))) {
    isFound('src/worker/a.ts', `export {};\n// ${word}: later`, `2 ${word}: do it, or open an issue`);
    isFound('test/a.test.ts', `/* ${word} */`, `1 ${word}: do it, or open an issue`);
  }
  assert.equal(planted('src/worker/a.ts', "export const todo = 'a todo list';"), '');
});

test('a test that does not run is found', () => {
  const rest = 'every test runs, everywhere; repair it or remove it';
  const a = 'test/a.test.ts';
  isFound(a, "test.skip('x', () => {});", `1 test.skip: ${rest}`);
  isFound(a, "it.only('x', () => {});", `1 it.only: ${rest}`);
  isFound(a, "\ntest.todo('x');", `2 test.todo: ${rest}`);
  isFound(a, "describe.skip('x', () => {});", `1 describe.skip: ${rest}`);
  isFound(a, "test('x', (t) => t.skip('no emulator'));", `1 t.skip: ${rest}`);
  isFound(a, "test('x', { skip: !emulator }, () => {});", `1 { skip }: ${rest}`);
  isFound(a, "test('x', { timeout: 5, only: true }, () => {});", `1 { only }: ${rest}`);
  assert.equal(planted(a, "test('x', { timeout: 5 }, () => {});\nrange({ skip: 1 });"), '');
});

test('what happens on import is found', () => {
  const doNothing = 'importing a file does nothing: put this into a function';
  const a = 'src/domain/a.ts';
  isFound(a, "register('a');", `1 ${doNothing}`);
  isFound(a, 'export const x = await load();', `1 ${doNothing}`);
  isFound(a, 'await load();', `1 ${doNothing}`);
  isFound(a, 'if (x) y();', `1 ${doNothing}`);
  isFound(a, 'for (const x of []) y(x);', `1 ${doNothing}`);
  isFound(a, 'export const x = console.log(1);', `1 ${doNothing}`);
  isFound(a, 'export const { pid } = process;', `1 ${doNothing}`);
  isFound(a, 'export class A {\n  static { start(); }\n}', `2 ${doNothing}`);
  isFound(a, 'let count = 0;', '1 a variable of the module is state that all share: keep it in a value or a class');
  isFound('src/worker/a.ts', 'run();', `1 ${doNothing}`);
});

test('declarations, constants and what stands inside functions do nothing on import', () => {
  const fine = [
    "import { z } from 'zod';\nexport const schema = z.object({}).strict();",
    "export const TYPES = Object.keys({ a: 1 });\nexport type T = 'a';\nexport interface I { a: 1 }",
    'export async function f() { await g(); console.log(1); let x = 1; x += 1; }',
    'export const f = () => process.exit(1);',
    'export class A { pid = process.pid; #x = 1; run() { console.log(this.#x); } }',
    "export { b } from './b.ts';\nexport type { C } from './c.ts';",
  ];
  for (const text of fine) assert.equal(planted('src/domain/b.ts', text), '', text);
  assert.equal(planted('src/cli/main.ts', 'await run();'), '');
});
