import { isRecord } from '../../is-record.ts';
import { parseRecording } from '../parse-recording.ts';
import { describeProblem } from '../problem.ts';
import type { WrittenRecording } from '../recording.ts';
import { importChromeRecorder } from './chrome-recorder.ts';
import { type ComposeOptions, composeRecording } from './compose-recording.ts';
import { findParameters, type ImportedParameter } from './parameters.ts';
import { importPlainActions } from './plain-actions.ts';
import { importPlaywright } from './playwright.ts';
import { importSelenium } from './selenium.ts';
import type { ConvertedSteps, ImportNote } from './step-writer.ts';

export const IMPORT_FORMATS = {
  chrome: 'Chrome DevTools Recorder (JSON)',
  selenium: 'Selenium IDE (.side)',
  playwright: 'Playwright codegen (JSON Lines)',
  plain: 'a list of actions',
} as const;

type ImportFormat = keyof typeof IMPORT_FORMATS;

/** A recording made from another tool's file, and what became of the file's entries. */
export type Imported =
  | { readonly ok: false; readonly problem: string }
  | {
      readonly ok: true;
      readonly format: ImportFormat;
      readonly recording: WrittenRecording;
      /** Entries of the file, and those that are part of the recording. */
      readonly converted: number;
      readonly changed: readonly ImportNote[];
      readonly lost: readonly ImportNote[];
      readonly parameters: readonly ImportedParameter[];
    };

/** 5 MB; exports with pictures in them are larger, and not for us. */
const MAX_LENGTH = 5_000_000;

export function importRecording(text: string, options: ComposeOptions): Imported {
  if (text.length > MAX_LENGTH) return refuse(`the file is larger than ${MAX_LENGTH / 1_000_000} MB`);
  const read = readDocument(text);
  if (read === null) return refuse('the file is neither JSON nor JSON Lines');
  const found = convert(read);
  if (found === null) {
    return refuse(`the file is none of these: ${Object.values(IMPORT_FORMATS).join(', ')}`);
  }
  const { format, converted } = found;
  if (converted.steps.length === 0) return refuse('nothing in the file could be converted');
  const parameters = findParameters(converted.steps);
  const recording = composeRecording(converted, parameters, options);
  const parsed = parseRecording(recording);
  if (!parsed.ok) return refuse(parsed.problems.map(describeProblem).join('\n'));
  return {
    ok: true,
    format,
    recording,
    converted: converted.converted,
    changed: converted.changed,
    lost: converted.lost,
    parameters,
  };
}

function convert(document: unknown): { format: ImportFormat; converted: ConvertedSteps } | null {
  if (isRecord(document)) {
    if (Array.isArray(document['steps'])) return { format: 'chrome', converted: importChromeRecorder(document) };
    if (Array.isArray(document['tests'])) return { format: 'selenium', converted: importSelenium(document) };
    if (Array.isArray(document['actions']))
      return { format: 'plain', converted: importPlainActions(document['actions']) };
    return null;
  }
  if (!Array.isArray(document)) return null;
  const isPlaywright = document.some(
    (line) => isRecord(line) && ('browserName' in line || line['name'] === 'openPage' || 'signals' in line),
  );
  return isPlaywright
    ? { format: 'playwright', converted: importPlaywright(document) }
    : { format: 'plain', converted: importPlainActions(document) };
}

/** JSON, or a list of the values on its lines. */
function readDocument(text: string): unknown {
  const whole = text.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(whole);
  } catch {
    const lines = whole.split(/\r?\n/).filter((line) => line.trim() !== '');
    try {
      return lines.length > 1 ? lines.map((line) => JSON.parse(line) as unknown) : null;
    } catch {
      return null;
    }
  }
}

function refuse(problem: string): Imported {
  return { ok: false, problem };
}
