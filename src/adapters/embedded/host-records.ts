import { mergeSeen, NOTHING_SEEN } from '../../domain/compliance.ts';
import type { JobRecord } from '../../domain/job.ts';
import { seenFromText, seenToText } from '../../domain/seen-text.ts';
import { type HostRecord, type HostRecords, MAX_RECORDED_HOSTS, type SeenReport } from '../../ports/host-records.ts';
import type { Committer } from './ledger/committer.ts';
import type { Tables } from './ledger/tables.ts';

/** A row per job and host, next to the other rows of the job. Writes do not wait for the disk: it protects nothing. */
export class EmbeddedHostRecords implements HostRecords {
  readonly #tables: Tables;
  readonly #committer: Committer;

  constructor(tables: Tables, committer: Committer) {
    this.#tables = tables;
    this.#committer = committer;
  }

  async report(reports: readonly SeenReport[]): Promise<void> {
    await this.#committer.applied(() => {
      for (const report of reports) this.#add(report);
    });
  }

  ofJob({ jobId, incarnation }: Pick<JobRecord, 'jobId' | 'incarnation'>): Promise<readonly HostRecord[]> {
    return this.#committer.read(() => {
      const entry = this.#tables.jobs.get(jobId);
      if (entry?.record.incarnation !== incarnation) return [];
      const rows = this.#tables.sql.hostSeenOfJob.all(entry.num, MAX_RECORDED_HOSTS);
      return rows.map((row) => ({
        host: String(row['host']),
        seen: seenFromText(String(row['seen'])) ?? NOTHING_SEEN,
      }));
    });
  }

  #add({ jobId, host, seen }: SeenReport): void {
    const { jobs, sql } = this.#tables;
    const entry = jobs.get(jobId);
    if (entry === null) return;
    const row = sql.hostSeen.get(entry.num, host);
    if (row === undefined && Number(sql.countHostSeen.get(entry.num)?.['hosts']) >= MAX_RECORDED_HOSTS) return;
    const known = row === undefined ? null : seenFromText(String(row['seen']));
    sql.setHostSeen.run(entry.num, host, seenToText(mergeSeen(known ?? NOTHING_SEEN, seen)));
  }
}
