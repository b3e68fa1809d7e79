import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openGuide } from './guide.ts';

test('the commands of the README and the metrics of the operations guide exist', async (t) => {
  const guide = openGuide();
  await guide.start('bin/trawl serve --port 8080');

  await t.test('a newcomer can paste the commands of the README', async () => {
    const commands = page('README.md').match(/^bin\/trawl jobs .*$/gm) ?? [];
    assert.ok(commands.length >= 4, 'the commands were not found');
    for (const command of commands) {
      const { code, stdout, stderr } = await guide.run(command, { TRAWL_URL: guide.address('8080') });
      assert.equal(code, 0, `$ ${command}\n${stdout}${stderr}`);
    }
  });

  await t.test('every metric that is worth an alert or a graph is documented', async () => {
    const { stdout } = await guide.run('curl -s localhost:8080/metrics');
    const told = new Set([...stdout.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
    const named = page('docs/operations.md').match(/\b(?:trawl|nodejs|process)_[a-z0-9_]+/g) ?? [];
    assert.ok(named.length >= 10, 'the metrics were not found');
    const unknown = named.filter((name) => !told.has(name) && !told.has(name.replace(/_(?:bucket|sum|count)$/, '')));
    assert.deepEqual(unknown, []);
  });
});

function page(name: string): string {
  return readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
}
