import { stat } from 'node:fs/promises';
import { ConfigError, hasDisplay, loadConfig } from '../../config.ts';
import { describeSteps } from '../../domain/recording/describe-step.ts';
import { parseRecording } from '../../domain/recording/parse-recording.ts';
import { describeProblem } from '../../domain/recording/problem.ts';
import { composeRecorded, idFor, type RecordedByHand } from '../../domain/recording/record/compose-recorded.ts';
import { RECORDING, type Recording } from '../../domain/recording/recording.ts';
import { untilToldToStop } from '../../main/stop-signal.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCommand, formatItems, printable } from '../format.ts';
import { parametersText } from './parameters-text.ts';
import { defaultPlace, recordingText, writeNew } from './write-recording.ts';

interface Options {
  readonly id?: string;
  readonly out?: string;
  readonly parameterize?: true;
  readonly force?: true;
  readonly json?: true;
}

const NO_DISPLAY =
  'recording needs a display, and DISPLAY is not set: use a desktop, or record with the Chrome Recorder and import its file';

/** `trawl recordings record` */
export async function recordRecording(address: string, options: Options): Promise<void> {
  const url = readAddress(address);
  const id = RECORDING.shape.id.safeParse(options.id ?? idFor(url));
  if (!id.success) throw new ConfigError(`--id ${options.id ?? ''}: ${id.error.issues[0]?.message ?? ''}`);
  const out = options.out ?? defaultPlace(id.data);
  // Asked before: nobody records twice because a file is in the way.
  const isTaken = out !== '-' && (await stat(out).catch(() => null)) !== null;
  if (isTaken && !options.force) throw new ConfigError(`${out} exists already; --force replaces it`);
  if (!hasDisplay()) throw new ConfigError(NO_DISPLAY);
  const { recordInBrowser } = await import('../../main/recorder.ts');

  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  const visit = await recordInBrowser(loadConfig({ browserHeaded: true }), {
    url,
    signal: stop.signal,
    onOpen: () => process.stderr.write('recording: close the window to end it, or press Ctrl-C here\n'),
  });
  const isParameterized = options.parameterize === true;
  const recorded = composeRecorded(visit, { id: id.data, parameterize: isParameterized });
  const parsed = parseRecording(recorded.recording);
  const text = recordingText(recorded.recording);
  const isWritten = out !== '-' && (await writeNew(out, text, options.force === true));
  if (!isWritten) process.stdout.write(text);

  const file = isWritten ? out : null;
  const report = options.json
    ? `${JSON.stringify(reportJson(recorded, file), null, 2)}\n`
    : parsed.ok
      ? reportText(recorded, parsed.recording, { file, isParameterized })
      : `${parsed.problems.map(describeProblem).join('\n')}\n`;
  (isWritten ? process.stdout : process.stderr).write(report);
  process.exitCode = parsed.ok ? EXIT.done : EXIT.someItemsFailed;
}

function readAddress(address: string): string {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:/i.test(address) ? address : `https://${address}`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(`${printable(address)} is not an address such as https://treasurer.example.gov/search`);
  }
  return url.href;
}

function reportJson({ recording, notes, parameters }: RecordedByHand, file: string | null) {
  const { id, hosts, steps } = recording;
  return { file, id, hosts, steps: steps.length, notes, parameters };
}

/** What was recorded, and what to do next. */
export function reportText(
  { notes, parameters }: RecordedByHand,
  recording: Recording,
  { file, isParameterized }: { readonly file: string | null; readonly isParameterized: boolean },
): string {
  const input = Object.keys((recording.input['properties'] ?? {}) as object);
  const values = input.flatMap((name) => ['--input', `${name}=VALUE`]);
  const isFound = file === defaultPlace(recording.id);
  const lines = [
    `recorded ${formatItems(recording.steps.length, 'step')} at ${printable(recording.hosts.join(' '), 500)}:`,
    ...describeSteps(recording).map((line) => `  ${printable(line, 500)}`),
    ...(notes.length === 0 ? [] : ['not recorded:', ...notes.map((note) => `  ${printable(note, 500)}`)]),
    ...parametersText(parameters, isParameterized),
    ...(file === null ? [] : [`written to ${file}`]),
    '',
    'Next: add what to read from the last page (docs/recordings.md), then',
    ...(file === null ? [] : [`  $ ${formatCommand(['trawl', 'recordings', 'check', file])}`]),
    `  $ ${formatCommand(['trawl', 'recordings', 'run', isFound ? recording.id : (file ?? 'FILE'), ...values])}`,
  ];
  return `${lines.join('\n')}\n`;
}
