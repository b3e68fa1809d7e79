import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { blocksOf, isShown, openGuide } from './guide.ts';

test('the commands of the page on planning do what it shows', { timeout: 300_000 }, async () => {
  const page = readFileSync(new URL('../../docs/planning.md', import.meta.url), 'utf8');
  const guide = openGuide({ env: { NO_COLOR: '1' } });
  const blocks = blocksOf(page);
  assert.ok(blocks.length >= 4, 'the examples were not found');
  for (const block of blocks) {
    if (block.kind === 'terminal') await guide.start(block.command);
    else {
      for (const { command, expected } of block.steps) {
        const { code, stdout, stderr } = await guide.run(command);
        assert.equal(code, 0, `$ ${command}\n${stdout}${stderr}`);
        assert.ok(isShown(expected, stdout), `$ ${command}\n\nshown:\n${expected}\nwritten:\n${stdout}${stderr}`);
      }
    }
  }
});
