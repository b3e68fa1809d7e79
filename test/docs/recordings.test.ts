import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { COMMAND, PAGE, recordingSchema, SCHEMA, stepsPage } from '../../docs/generate-recordings.ts';
import { importRecording } from '../../src/domain/recording/import/import-recording.ts';
import { parseRecording } from '../../src/domain/recording/parse-recording.ts';
import { describeProblem } from '../../src/domain/recording/problem.ts';
import { STEP_TYPES } from '../../src/domain/recording/step.ts';

const PAGE_TEXT = readFileSync(PAGE, 'utf8');
const GUIDE = readFileSync(new URL('../../docs/recordings.md', import.meta.url), 'utf8');

test('the reference and the schema for editors match the code', () => {
  assert.equal(PAGE_TEXT, stepsPage(PAGE_TEXT), `docs/recording-steps.md is out of date: run ${COMMAND}`);
  assert.equal(
    readFileSync(SCHEMA, 'utf8'),
    recordingSchema(),
    `docs/recording.schema.json is out of date: run ${COMMAND}`,
  );
});

test('every step has a section of its own in the reference', () => {
  for (const type of STEP_TYPES) assert.match(PAGE_TEXT, new RegExp(`^### ${type}$`, 'm'));
});

test('the recording in the guide is accepted, by the parser and by the schema for editors', () => {
  const [recording, actions] = [...GUIDE.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
  const document: unknown = JSON.parse(recording ?? '');
  const parsed = parseRecording(document);
  assert.deepEqual(parsed.ok ? [] : parsed.problems.map(describeProblem), []);
  const isValid = new Ajv2020({ strict: false }).compile(JSON.parse(recordingSchema()));
  assert.equal(isValid(document), true, JSON.stringify(isValid.errors));
  assert.equal(isValid({ ...(document as object), steps: [{ type: 'clik' }] }), false);

  const imported = importRecording(actions ?? '', { id: 'my-county', parameterize: false });
  assert.ok(imported.ok, imported.ok ? '' : imported.problem);
  assert.deepEqual([imported.changed, imported.lost], [[], []]);
});
