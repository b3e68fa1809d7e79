import { styleText } from 'node:util';
import { describeSteps } from '../../domain/recording/describe-step.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { readRecordingFile } from './read-recording.ts';

/** `trawl recordings show` */
export async function showRecording(file: string, options: { json?: true }): Promise<void> {
  const read = await readRecordingFile(file);
  if (!read.ok) {
    for (const problem of read.problems) process.stderr.write(`trawl: ${file}: ${printable(problem, 1500)}\n`);
    process.exitCode = EXIT.someItemsFailed;
    return;
  }
  const { recording } = read;
  if (options.json) {
    process.stdout.write(`${JSON.stringify(recording, null, 2)}\n`);
    return;
  }
  const { id, name, version, hosts, engine } = recording;
  const lines = [
    `${styleText('bold', printable(name))}  ${printable(version)}`,
    `id       ${id}`,
    `hosts    ${printable(hosts.join(' '), 1000)}`,
    `engine   ${engine}`,
    '',
    ...describeSteps(recording).map((line) => printable(line, 500)),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
