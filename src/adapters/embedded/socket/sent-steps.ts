import { isRecord } from '../../../domain/is-record.ts';
import { stepsFromText, stepsToText } from '../../../domain/recording/steps-text.ts';
import type { StepsReport } from '../../../ports/step-records.ts';
import { BadCall, name } from './call-arguments.ts';

/** A report about the steps of a job, as it is sent over the socket. */
interface SentSteps extends Omit<StepsReport, 'steps'> {
  readonly steps: string;
}

/** More jobs than a worker reports about at once. */
const MAX_REPORTS = 1000;

export function sentSteps(reports: readonly StepsReport[]): readonly SentSteps[] {
  return reports.map(({ jobId, steps }) => ({ jobId, steps: stepsToText(steps) }));
}

/** The check of an argument. */
export function stepsList(value: unknown): readonly SentSteps[] {
  if (!Array.isArray(value) || value.length > MAX_REPORTS) throw new BadCall('this is not a list of reports');
  return value.map((each: unknown) => {
    if (!isRecord(each) || typeof each['steps'] !== 'string') throw new BadCall('a report is missing');
    return { jobId: name(each['jobId']), steps: each['steps'] };
  });
}

export function receivedSteps(reports: readonly SentSteps[]): readonly StepsReport[] {
  return reports.map(({ jobId, steps: text }) => {
    const steps = stepsFromText(text);
    if (steps === null) throw new BadCall('a report cannot be read');
    return { jobId, steps };
  });
}
