import { mergeSeen, NOTHING_SEEN } from '../../../src/domain/compliance.ts';
import type { HostRecords } from '../../../src/ports/host-records.ts';
import { type HostRecord, MAX_RECORDED_HOSTS } from '../../../src/ports/host-records.ts';
import type { Ledger } from '../../../src/ports/ledger.ts';

export function openMemoryHostRecords(ledger: Pick<Ledger, 'job'>): HostRecords {
  const jobs = new Map<string, Map<string, HostRecord>>();
  return {
    async report(reports) {
      for (const { jobId, host, seen } of reports) {
        const job = await ledger.job(jobId);
        if (job === null) continue;
        const hosts = jobs.get(job.incarnation) ?? new Map<string, HostRecord>();
        jobs.set(job.incarnation, hosts);
        if (hosts.size >= MAX_RECORDED_HOSTS && !hosts.has(host)) continue;
        hosts.set(host, { host, seen: mergeSeen(hosts.get(host)?.seen ?? NOTHING_SEEN, seen) });
      }
    },
    async ofJob({ jobId, incarnation }) {
      if ((await ledger.job(jobId))?.incarnation !== incarnation) return [];
      return [...(jobs.get(incarnation)?.values() ?? [])].sort((a, b) => (a.host < b.host ? -1 : 1));
    },
  };
}
