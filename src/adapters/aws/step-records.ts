import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { JobRecord } from '../../domain/job.ts';
import { type JobSteps, mergeSteps, NO_STEPS } from '../../domain/recording/step-statistics.ts';
import { stepsFromText, stepsToText } from '../../domain/recording/steps-text.ts';
import type { Clock } from '../../ports/clock.ts';
import type { StepRecords, StepsReport } from '../../ports/step-records.ts';
import { bytes, bytesOf, type Row, text, textOf } from './dynamo/attributes.ts';
import { type Condition, IS_NEW, setting } from './dynamo/expressions.ts';
import { packJson, unpackJson } from './dynamo/packing.ts';
import { Table } from './dynamo/table.ts';
import { metaKey, stepsKey } from './ledger/keys.ts';

/**
 * A row per job, found by its incarnation like everything that belongs to it. A report reads the row and writes it if no
 * other process was faster. It is compressed, because rows are billed by the kilobyte. Every write has its own mark: if a row has ours, we wrote it, although the reply was lost.
 */
export class DynamoStepRecords implements StepRecords {
  readonly #table: Table;
  readonly #clock: Clock;

  constructor({ dynamo, tableName, clock }: { dynamo: DynamoDBClient; tableName: string; clock: Clock }) {
    this.#table = new Table(dynamo, tableName, clock);
    this.#clock = clock;
  }

  async report(reports: readonly StepsReport[]): Promise<void> {
    // Checked every time: a job may be gone by now, and another one may have its id.
    const metas = await this.#table.getAll(reports.map(({ jobId }) => metaKey(jobId)));
    await Promise.all(
      reports.map(async ({ steps }, index) => {
        const meta = metas[index] ?? null;
        if (meta !== null) await this.#add(steps, textOf(meta, 'inc'));
      }),
    );
  }

  async ofJob({ incarnation }: Pick<JobRecord, 'jobId' | 'incarnation'>): Promise<JobSteps> {
    const row = await this.#table.get(stepsKey(incarnation));
    return row === null ? NO_STEPS : stepsIn(row);
  }

  async #add(steps: JobSteps, inc: string): Promise<void> {
    const key = stepsKey(inc);
    const mark = this.#clock.id();
    for (let tries = 0; ; tries += 1) {
      const row = await this.#table.get(key);
      if (row !== null && textOf(row, 'mark') === mark) return;
      const merged = mergeSteps(row === null ? NO_STEPS : stepsIn(row), steps);
      const [seen = EMPTY] = packJson(stepsToText(merged));
      const change = setting({ seen: bytes(seen), mark: text(mark) });
      if (await this.#table.update(key, change, row === null ? IS_NEW : sameMark(row))) return;
      if (tries > 0) await this.#table.pause(tries);
    }
  }
}

/** A record is far smaller than one piece. */
const EMPTY = new Uint8Array();

function stepsIn(row: Row): JobSteps {
  return stepsFromText(unpackJson<string>([bytesOf(row, 'seen')])) ?? NO_STEPS;
}

function sameMark(row: Row): Condition {
  return { expression: '#mark = :ifMark', values: { ':ifMark': text(textOf(row, 'mark')) } };
}
