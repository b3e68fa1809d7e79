import { planHttp } from '../../domain/recording/http-plan.ts';
import { nameStep, walkSteps } from '../../domain/recording/step-path.ts';
import { EXIT } from '../exit-codes.ts';
import { formatItems, printable } from '../format.ts';
import { readRecordingFile } from './read-recording.ts';

/** `trawl recordings check` */
export async function checkRecordings(files: readonly string[], options: { json?: true }): Promise<void> {
  const reports = await Promise.all(files.map(checkFile));
  if (options.json) process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`);
  else for (const report of reports) process.stdout.write(`${reportText(report)}\n`);
  process.exitCode = reports.every(({ ok }) => ok) ? EXIT.done : EXIT.someItemsFailed;
}

type Report = Awaited<ReturnType<typeof checkFile>>;

async function checkFile(file: string) {
  const read = await readRecordingFile(file);
  if (!read.ok) return { file, ok: false as const, problems: read.problems };
  const { recording } = read;
  const steps = [...walkSteps(recording)];
  const { isPossible, obstacles } = planHttp(recording);
  return {
    file,
    ok: true as const,
    id: recording.id,
    version: recording.version,
    steps: steps.length,
    input: Object.keys((recording.input['properties'] ?? {}) as object),
    engine: recording.engine,
    /** Whether it can be carried out without a browser, and what is in the way. */
    http: isPossible,
    needs_browser: obstacles.map(({ path, type, reason }) => ({ step: nameStep(path, type), reason })),
    /** Steps that are refused unless the operator allows scripts. */
    needs_scripts: steps
      .filter(({ step }) => step.type === 'waitForExpression')
      .map(({ path, step }) => nameStep(path, step.type)),
  };
}

function reportText(report: Report): string {
  const file = printable(report.file, 1000);
  if (!report.ok)
    return [`${file} cannot be used:`, ...report.problems.map((each) => `  ${printable(each, 1500)}`)].join('\n');
  const { id, version, steps, input, http, needs_browser, needs_scripts } = report;
  return [
    `${file}: ${id} ${printable(version)}, ${formatItems(steps, 'step')}, input ${input.join(', ') || 'none'}`,
    ...(http ? ['  can be tried without a browser: no step needs one'] : []),
    ...needs_browser.map(({ step, reason }) => `  ${step} needs a browser: ${reason}`),
    ...needs_scripts.map((step) => `  ${step} is refused unless the operator allows scripts`),
  ].join('\n');
}
