import assert from 'node:assert/strict';
import { addSpan, NO_SPANS } from '../../src/domain/recording/step-spans.ts';
import { addSeen, type JobSteps, NO_STEPS } from '../../src/domain/recording/step-statistics.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import type { StepRecords } from '../../src/ports/step-records.ts';
import { NOW } from '../support/builders.ts';
import { change, givenJob, jobOf } from './ledger/hands.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface StepRecordsParts {
  readonly ledger: Ledger;
  readonly stepRecords: StepRecords;
}

/** What a process saw of one item. */
function seenOf(path: string, alternative: number | null, ms = 100): JobSteps {
  const step = { path, label: 'click "Search"' };
  const spans = addSpan(NO_SPANS, ms);
  return addSeen(NO_STEPS, [{ step, selectors: ['#go', 'text/Search'], spans, alternative }], NOW);
}

/** Everything that the comments of `ports/step-records.ts` promise. `open` makes one without records. */
export function stepRecordsContract(
  name: string,
  open: () => Promise<Opened<StepRecordsParts>>,
  options: SuiteOptions = {},
): void {
  suite<StepRecordsParts>(`records of steps on ${name}`, open, options, (add) => {
    async function read({ ledger, stepRecords }: StepRecordsParts, jobId: string) {
      const steps = await stepRecords.ofJob(await jobOf(ledger, jobId));
      return steps.map(({ step, items, spans, matched }) => [step.path, items, spans.totalMs, [...matched]]);
    }

    add('reports of several processes are added up, by job and step', async (parts) => {
      const { ledger, stepRecords } = parts;
      const jobId = await givenJob(ledger, { items: 1 });
      const other = await givenJob(ledger, { jobId: 'other', items: 1 });
      assert.deepEqual(await read(parts, jobId), []);
      await stepRecords.report([
        { jobId, steps: seenOf('4.then.1', null) },
        { jobId: other, steps: seenOf('4', 0) },
      ]);
      await stepRecords.report([{ jobId, steps: seenOf('4', 0, 50) }]);
      await stepRecords.report([{ jobId, steps: seenOf('4', 1, 70) }]);
      assert.deepEqual(await read(parts, jobId), [
        ['4', 2, 120, [1, 1]],
        ['4.then.1', 1, 100, []],
      ]);
      assert.deepEqual(await read(parts, other), [['4', 1, 100, [1]]]);
      const [step] = await stepRecords.ofJob(await jobOf(ledger, jobId));
      assert.deepEqual(step?.slices, [{ minute: Math.floor(NOW / 60_000), items: 2, missed: 1 }]);
      assert.deepEqual(step?.selectors, ['#go', 'text/Search']);
    });

    add('no report is lost when several arrive at the same time', async (parts) => {
      const { ledger, stepRecords } = parts;
      const jobId = await givenJob(ledger, { items: 1 });
      const reports = Array.from({ length: 6 }, () => ({ jobId, steps: seenOf('4', 0) }));
      await Promise.all(reports.map((report) => stepRecords.report([report])));
      assert.deepEqual(await read(parts, jobId), [['4', 6, 600, [6]]]);
    });

    add('a job that is gone has no records, and neither has the next one with its id', async (parts) => {
      const { ledger, stepRecords } = parts;
      const jobId = await givenJob(ledger, { items: 1 });
      const former = await jobOf(ledger, jobId);
      const report = { jobId, steps: seenOf('4', 0) };
      await stepRecords.report([report]);
      const { incarnation } = former;
      await change(ledger, jobId, { kind: 'remove', incarnation });
      await change(ledger, jobId, { kind: 'remove-for-good', incarnation });
      assert.equal(await ledger.removeJob(jobId, incarnation), true);
      await stepRecords.report([report, { ...report, jobId: 'never made' }]);
      assert.deepEqual(await stepRecords.ofJob(former), []);
      await givenJob(ledger, { jobId, items: 1 });
      assert.deepEqual(await read(parts, jobId), []);
    });
  });
}
