import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { mergeSeen, NOTHING_SEEN, type Seen } from '../../domain/compliance.ts';
import type { JobRecord } from '../../domain/job.ts';
import { seenFromText, seenToText } from '../../domain/seen-text.ts';
import type { Clock } from '../../ports/clock.ts';
import { type HostRecord, type HostRecords, MAX_RECORDED_HOSTS, type SeenReport } from '../../ports/host-records.ts';
import { type Row, text, textOf } from './dynamo/attributes.ts';
import { type Condition, IS_NEW, setting } from './dynamo/expressions.ts';
import { Table } from './dynamo/table.ts';
import { metaKey, seenPk } from './ledger/keys.ts';

/**
 * A row per job and host, found by the job's incarnation like everything that belongs to it. A report reads the row and
 * writes it if no other process was faster. Every write has its own mark: if a row has ours, we wrote it, although the
 * reply was lost.
 */
export class DynamoHostRecords implements HostRecords {
  readonly #table: Table;
  readonly #clock: Clock;

  constructor({ dynamo, tableName, clock }: { dynamo: DynamoDBClient; tableName: string; clock: Clock }) {
    this.#table = new Table(dynamo, tableName, clock);
    this.#clock = clock;
  }

  async report(reports: readonly SeenReport[]): Promise<void> {
    const jobIds = [...new Set(reports.map(({ jobId }) => jobId))];
    // Checked every time: a job may be gone by now, and another one may have its id.
    const metas = await this.#table.getAll(jobIds.map(metaKey));
    const incarnations = new Map(jobIds.map((jobId, at) => [jobId, metas[at] ?? null]));
    await Promise.all(
      reports.map(async (report) => {
        const meta = incarnations.get(report.jobId) ?? null;
        if (meta !== null) await this.#add(report, textOf(meta, 'inc'));
      }),
    );
  }

  async ofJob({ incarnation }: Pick<JobRecord, 'jobId' | 'incarnation'>): Promise<readonly HostRecord[]> {
    const rows = await this.#table.first({ pk: seenPk(incarnation) }, MAX_RECORDED_HOSTS);
    return rows.map((row) => ({ host: textOf(row, 'sk'), seen: seenIn(row) }));
  }

  async #add({ host, seen }: SeenReport, inc: string): Promise<void> {
    const key = { pk: seenPk(inc), sk: host };
    const mark = this.#clock.id();
    for (let tries = 0; ; tries += 1) {
      const row = await this.#table.get(key);
      if (row !== null && textOf(row, 'mark') === mark) return;
      const merged = mergeSeen(row === null ? NOTHING_SEEN : seenIn(row), seen);
      const change = setting({ seen: text(seenToText(merged)), mark: text(mark) });
      if (await this.#table.update(key, change, row === null ? IS_NEW : sameMark(row))) return;
      if (tries > 0) await this.#table.pause(tries);
    }
  }
}

function seenIn(row: Row): Seen {
  return seenFromText(textOf(row, 'seen')) ?? NOTHING_SEEN;
}

function sameMark(row: Row): Condition {
  return { expression: '#mark = :ifMark', values: { ':ifMark': text(textOf(row, 'mark')) } };
}
