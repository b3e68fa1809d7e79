import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { COMMAND, PAGE, policyPage } from '../../docs/generate-policy.ts';
import { policySchema } from '../../src/domain/policy.ts';

const TEXT = readFileSync(PAGE, 'utf8');

test('the tables of the policy page match the schema', () => {
  assert.equal(TEXT, policyPage(TEXT), `docs/policy.md is out of date: run ${COMMAND}`);
});

test('every field of a policy has its row in the section of its name, and every row is a field', () => {
  const { robots, ...sections } = policySchema.parse({});
  const expected = Object.entries({ ...sections, robots: { robots } });
  for (const [name, fields] of expected) assert.deepEqual(rowsOf(name), Object.keys(fields), name);
  assert.equal(TEXT.match(/^\| `/gm)?.length, expected.flatMap(([, fields]) => Object.keys(fields)).length);
});

test('every policy that a page shows is accepted as written', () => {
  const folder = new URL('../../docs/', import.meta.url);
  const pages = readdirSync(folder).filter((name) => name.endsWith('.md'));
  const shown = pages.flatMap((page) => {
    const blocks = readFileSync(new URL(page, folder), 'utf8').matchAll(/^```json\n([\s\S]*?)^```$/gm);
    return [...blocks].map(([, text = '']) => ({ page, policy: JSON.parse(text) as object }));
  });
  const policies = shown.filter(({ policy }) => Object.keys(policy).some((name) => name in policySchema.shape));
  assert.ok(policies.length >= 4, 'the policies were not found');
  for (const { page, policy } of policies) {
    assert.deepEqual(policySchema.safeParse(policy).error?.issues, undefined, page);
  }
});

/** The fields in the table after the comment with this name. */
function rowsOf(section: string): string[] {
  const [, after = ''] = TEXT.split(`<!-- ${section} -->\n`);
  const [table = ''] = after.split('\n\n');
  return [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name);
}
