import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type Config, ConfigError, EMBEDDED, LOCAL_RESULTS, loadConfig } from '../config.ts';
import type { VerifyReport } from '../contract/verify-report.ts';
import { verifyResults } from '../main/verify-results.ts';
import { EXIT } from './exit-codes.ts';
import { formatBytes, formatCount, formatItems, printable } from './format.ts';

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description('check the results of a finished job: every item listed once, every part and file intact')
    .argument('<job>', 'the id of the job')
    .option(
      '--data-dir <folder>',
      'where its results are kept (default: TRAWL_DATA_DIR or .trawl, including folders of trawl run; on AWS the bucket)',
    )
    .option('--json', 'one JSON object on stdout')
    .addHelpText('after', HELP)
    .action(verify);
}

const HELP = `
It needs nothing but the results, so that a copy of them can be checked anywhere, also while an engine runs on them.

Exit codes: 0 all is well, 1 something is not, 3 there is no such job, or it is not finished.

Example:
  $ trawl verify parcels-2026 --data-dir .trawl/run/maricopa-az`;

async function verify(jobId: string, options: { dataDir?: string; json?: boolean }): Promise<void> {
  const report = await findAndVerify(
    // A given folder is always a folder, even if jobs are kept on AWS: it may be a copy of a bucket.
    loadConfig(
      options.dataDir === undefined ? {} : { dataDir: options.dataDir, backend: EMBEDDED, results: LOCAL_RESULTS },
    ),
    jobId,
    {
      alsoRuns: options.dataDir === undefined,
    },
  );
  process.stdout.write(options.json ? `${JSON.stringify(verifyJson(report), null, 2)}\n` : `${verifyText(report)}\n`);
  process.exitCode = exitCodeOf(report);
}

/** Unless a folder is given, a job of `trawl run` is also found by its name. */
async function findAndVerify(
  config: Config,
  jobId: string,
  { alsoRuns }: { alsoRuns: boolean },
): Promise<VerifyReport> {
  const report = await verifyResults(config, jobId);
  const isName = /^[\w.~-]+$/.test(jobId) && !jobId.startsWith('.');
  if (report.kind === 'checked' || !alsoRuns || !isName) return report;
  const folders = runFolders(join(config.dataDir, 'run')).filter((folder) =>
    existsSync(join(folder, 'results', jobId)),
  );
  if (folders.length > 1) {
    throw new ConfigError(`several runs have a job ${jobId}: choose one with --data-dir ${folders.join(' or ')}`);
  }
  const [dataDir] = folders;
  if (dataDir === undefined) return report;
  const ofRun = await verifyResults({ ...config, backend: EMBEDDED, results: LOCAL_RESULTS, dataDir }, jobId);
  return ofRun.kind === 'checked' ? ofRun : report;
}

function runFolders(parent: string): string[] {
  if (!existsSync(parent)) return [];
  const entries = readdirSync(parent, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(parent, name));
}

function exitCodeOf(report: VerifyReport): number {
  if (report.kind === 'nothing') return EXIT.failed;
  return report.problemCount === 0 ? EXIT.done : EXIT.someItemsFailed;
}

export function verifyText(report: VerifyReport): string {
  if (report.kind === 'nothing') return `Nothing to check: ${report.message}`;
  const { jobId, status, checked, counts, problems, problemCount } = report;
  const read =
    `${formatItems(checked.items)} in ${formatItems(checked.parts, 'part')} of the manifest, ` +
    `${formatItems(checked.artifacts, 'file')} of ${formatBytes(checked.bytes)}`;
  const kinds = (['success', 'failed', 'skipped', 'cancelled'] as const)
    .filter((kind) => counts[kind] > 0)
    .map((kind) => `${formatCount(counts[kind])} ${kind}`);
  const head = [
    `Job ${printable(jobId)} (${status}): ${kinds.join(', ')} of ${formatCount(counts.total)}`,
    `Checked: ${read}`,
  ];
  if (problemCount === 0)
    return [...head, 'All is well: every item is listed once, and every byte is as it was stored.'].join('\n');
  const rest = problemCount - problems.length;
  return [
    ...head,
    '',
    `${formatItems(problemCount, 'problem')}:`,
    ...problems.map(({ where, problem }) => `  ${printable(where)}: ${printable(problem)}`),
    ...(rest > 0 ? [`  and ${formatCount(rest)} more`] : []),
  ].join('\n');
}

function verifyJson(report: VerifyReport) {
  if (report.kind === 'nothing') return { ok: false, message: report.message };
  const { jobId, status, counts, checked, problems, problemCount } = report;
  return { ok: problemCount === 0, job_id: jobId, status, counts, checked, problem_count: problemCount, problems };
}
