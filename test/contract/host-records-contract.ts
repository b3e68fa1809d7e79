import assert from 'node:assert/strict';
import { JOB_UNSEEN, NOTHING_SEEN, type Seen, worstOf } from '../../src/domain/compliance.ts';
import { HostWatch } from '../../src/domain/host-watch.ts';
import type { HostRecords } from '../../src/ports/host-records.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { NOW } from '../support/builders.ts';
import { change, givenJob, jobOf } from './ledger/hands.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface HostRecordsParts {
  readonly ledger: Ledger;
  readonly hostRecords: HostRecords;
}

const START = Math.floor(NOW / 1000) * 1000;

/** What was seen by a process that sent these requests, each taking 100 ms, within a few seconds. */
function seenOf(jobId: string, starts: readonly number[]): Seen {
  const watch = new HostWatch();
  for (const at of starts) {
    watch.started('county.gov', jobId, START + at);
    watch.ended('county.gov', jobId, START + at + 100);
  }
  return watch.take('county.gov', START + 20_000) ?? NOTHING_SEEN;
}

/** Everything that the comments of `ports/host-records.ts` promise. `open` makes one without records. */
export function hostRecordsContract(
  name: string,
  open: () => Promise<Opened<HostRecordsParts>>,
  options: SuiteOptions = {},
): void {
  suite<HostRecordsParts>(`records of hosts on ${name}`, open, options, (add) => {
    async function read({ ledger, hostRecords }: HostRecordsParts, jobId: string) {
      const records = await hostRecords.ofJob(await jobOf(ledger, jobId));
      return records.map(({ host, seen }) => {
        const job = seen.jobs.get(jobId) ?? JOB_UNSEEN;
        const { perSecond, gapMs } = worstOf(job, seen.pauses);
        return [host, job.requests, perSecond, gapMs];
      });
    }

    add('reports of several processes are merged, by job and host', async (parts) => {
      const { ledger, hostRecords } = parts;
      const jobId = await givenJob(ledger, { items: 1 });
      const other = await givenJob(ledger, { jobId: 'other', items: 1 });
      assert.deepEqual(await read(parts, jobId), []);
      await hostRecords.report([
        { jobId, host: 'county.gov', seen: seenOf(jobId, [0, 500, 1500]) },
        { jobId, host: 'b.gov:8080', seen: seenOf(jobId, [0]) },
      ]);
      await hostRecords.report([{ jobId, host: 'county.gov', seen: seenOf(jobId, [200, 1700]) }]);
      await hostRecords.report([{ jobId: other, host: 'county.gov', seen: seenOf(other, [100]) }]);
      assert.deepEqual(await read(parts, jobId), [
        ['b.gov:8080', 1, 1, null],
        ['county.gov', 5, 3, 200],
      ]);
      assert.deepEqual(await read(parts, other), [['county.gov', 1, 1, null]]);
    });

    add('no report is lost when several arrive at the same time', async (parts) => {
      const { ledger, hostRecords } = parts;
      const jobId = await givenJob(ledger, { items: 1 });
      const starts = Array.from({ length: 6 }, (_, at) => at * 100);
      const reports = starts.map((at) => ({ jobId, host: 'county.gov', seen: seenOf(jobId, [at]) }));
      await Promise.all(reports.map((report) => hostRecords.report([report])));
      assert.deepEqual(await read(parts, jobId), [['county.gov', 6, 6, 100]]);
    });

    add('a job that is gone has no records, and neither has the next one with its id', async (parts) => {
      const { ledger, hostRecords } = parts;
      const jobId = await givenJob(ledger, { items: 1 });
      const former = await jobOf(ledger, jobId);
      const report = { jobId, host: 'county.gov', seen: seenOf(jobId, [0]) };
      await hostRecords.report([report]);
      const { incarnation } = former;
      await change(ledger, jobId, { kind: 'remove', incarnation });
      await change(ledger, jobId, { kind: 'remove-for-good', incarnation });
      assert.equal(await ledger.removeJob(jobId, incarnation), true);
      await hostRecords.report([report, { ...report, jobId: 'never made' }]);
      assert.deepEqual(await hostRecords.ofJob(former), []);
      await givenJob(ledger, { jobId, items: 1 });
      assert.deepEqual(await read(parts, jobId), []);
    });
  });
}
