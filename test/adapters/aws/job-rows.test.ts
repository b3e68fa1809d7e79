import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json, jsonOf } from '../../../src/adapters/aws/dynamo/attributes.ts';
import { hotRow, type JobRows, jobOfRows, metaRow } from '../../../src/adapters/aws/ledger/job-rows.ts';
import { newJobRecord } from '../../../src/domain/job.ts';
import { NOW, newJob } from '../../support/builders.ts';

const FRESH = { inc: 'inc', epoch: 1, dispatches: 0, changes: 0, cursor: 0, pooled: 0, isShut: false, runs: [] };

test('a job of an earlier version has the defaults of policy fields that came later', () => {
  const record = newJobRecord(newJob({ policy: { retries: { max_retries: 7 } } }), 3, NOW, 'inc');
  const rows: JobRows = { ...FRESH, record };
  const meta = metaRow(rows);
  const stored = jsonOf<{ policy: { retries: Record<string, unknown> } }>(meta, 'record');
  delete stored.policy.retries['max_retry_after_seconds'];
  assert.deepEqual(jobOfRows([{ ...meta, record: json(stored) }, hotRow(rows)])?.record, record);
});
