import { composeRecording } from '../import/compose-recording.ts';
import { findParameters, type ImportedParameter } from '../import/parameters.ts';
import type { WrittenRecording } from '../recording.ts';
import type { RecordedEvent } from './recorded-event.ts';
import { stepsFromEvents } from './steps-from-events.ts';

/** What a recorder saw. */
export interface RecordedVisit {
  /** Where it began. */
  readonly url: string;
  readonly events: readonly RecordedEvent[];
  /** Of every page that came. */
  readonly hosts: readonly string[];
}

export interface RecordedByHand {
  readonly recording: WrittenRecording;
  /** What was done and is not among the steps. */
  readonly notes: readonly string[];
  /** Values that were typed, and that may be others for each item. */
  readonly parameters: readonly ImportedParameter[];
}

export function composeRecorded(
  { url, events, hosts }: RecordedVisit,
  options: { readonly id: string; readonly parameterize: boolean },
): RecordedByHand {
  const { steps, notes } = stepsFromEvents(url, events);
  const parameters = findParameters(steps);
  const converted = { title: null, steps, sequences: {}, viewport: undefined, stepMs: null };
  return { recording: composeRecording(converted, parameters, options, hosts), notes, parameters };
}

/** An id for a recording of this address: `treasurer-example-gov`. */
export function idFor(url: string): string {
  const host = URL.parse(url)?.hostname ?? '';
  const words = host
    .replace(/^www\./, '')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  return words.join('-').slice(0, 60).replace(/-$/, '') || 'recording';
}
