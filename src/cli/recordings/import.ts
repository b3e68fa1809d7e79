import { IMPORT_FORMATS, type Imported, importRecording } from '../../domain/recording/import/import-recording.ts';
import { EXIT } from '../exit-codes.ts';
import { formatItems, printable } from '../format.ts';
import { parametersText } from './parameters-text.ts';
import { readTextFile } from './read-recording.ts';
import { defaultPlace, recordingText, writeNew } from './write-recording.ts';

interface Options {
  readonly id: string;
  readonly parameterize?: true;
  readonly out?: string;
  readonly force?: true;
  readonly json?: true;
}

/** `trawl recordings import` */
export async function importFile(file: string, options: Options): Promise<void> {
  const read = await readTextFile(file);
  if (!read.ok) return refuse(`${file} ${read.problem}`);
  const imported = importRecording(read.text, { id: options.id, parameterize: options.parameterize === true });
  if (!imported.ok) return refuse(`${file} cannot be imported: ${imported.problem}`);

  const out = options.out ?? defaultPlace(options.id);
  const text = recordingText(imported.recording);
  if (out === '-') process.stdout.write(text);
  else if (!(await writeNew(out, text, options.force === true))) {
    return refuse(`${out} exists already; --force replaces it`);
  }
  // The recording itself may be on the standard output.
  const report = options.json
    ? `${JSON.stringify(reportJson(imported, out), null, 2)}\n`
    : reportText(imported, out, options);
  (out === '-' ? process.stderr : process.stdout).write(report);
  process.exitCode = imported.lost.length === 0 ? EXIT.done : EXIT.someItemsFailed;
}

type Done = Extract<Imported, { ok: true }>;

function reportJson({ format, converted, changed, lost, parameters, recording }: Done, out: string) {
  return { file: out, format, steps: recording.steps.length, converted, changed, lost, parameters };
}

function reportText(imported: Done, out: string, options: Options): string {
  const { format, converted, changed, lost, parameters, recording } = imported;
  const note = ({ entry, message }: { entry: string; message: string }) => `  ${entry}: ${printable(message, 500)}`;
  const lines = [
    `${IMPORT_FORMATS[format]}: ${converted} ${converted === 1 ? 'entry' : 'entries'} converted to ${formatItems(recording.steps.length, 'step')}`,
    ...(changed.length === 0 ? [] : ['changed:', ...changed.map(note)]),
    ...(lost.length === 0 ? [] : ['lost:', ...lost.map(note)]),
    ...parametersText(parameters, options.parameterize === true),
    ...(out === '-' ? [] : [`written to ${out}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function refuse(message: string): void {
  process.stderr.write(`trawl: ${printable(message, 2000)}\n`);
  process.exitCode = EXIT.badUsage;
}
