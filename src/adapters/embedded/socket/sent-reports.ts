import { isRecord } from '../../../domain/is-record.ts';
import { seenFromText, seenToText } from '../../../domain/seen-text.ts';
import type { SeenReport } from '../../../ports/host-records.ts';
import { BadCall, name } from './call-arguments.ts';

/** A report of what was seen at a host, as it is sent over the socket. */
interface SentReport extends Omit<SeenReport, 'seen'> {
  readonly seen: string;
}

/** More than a worker sends at once. */
const MAX_REPORTS = 10_000;

export function sentReports(reports: readonly SeenReport[]): readonly SentReport[] {
  return reports.map(({ jobId, host, seen }) => ({ jobId, host, seen: seenToText(seen) }));
}

/** The check of an argument. */
export function reportList(value: unknown): readonly SentReport[] {
  if (!Array.isArray(value) || value.length > MAX_REPORTS) throw new BadCall('this is not a list of reports');
  return value.map((each: unknown) => {
    if (!isRecord(each) || typeof each['seen'] !== 'string') throw new BadCall('a report is missing');
    return { jobId: name(each['jobId']), host: name(each['host']), seen: each['seen'] };
  });
}

export function receivedReports(reports: readonly SentReport[]): readonly SeenReport[] {
  return reports.map(({ jobId, host, seen: text }) => {
    const seen = seenFromText(text);
    if (seen === null) throw new BadCall('a report cannot be read');
    return { jobId, host, seen };
  });
}
