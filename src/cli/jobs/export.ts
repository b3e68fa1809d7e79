import { extname } from 'node:path';
import type { Command } from 'commander';
import { ConfigError } from '../../config.ts';
import { Unreachable } from '../../contract/client/api-error.ts';
import { jobPath } from '../../contract/client/api-paths.ts';
import { type Client, type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { CommandFailed, errorText } from '../client/command-failure.ts';
import { fileTarget, stdoutTarget, type Target } from '../client/file-target.ts';
import { Meter } from '../client/meter.ts';
import { EXIT } from '../exit-codes.ts';
import { formatBytes, formatItems } from '../format.ts';
import { ProgressDisplay } from '../progress-display.ts';

const FORMATS = ['jsonl', 'csv', 'parquet'];

interface ExportOptions extends Pick<ClientOptions, 'url'> {
  readonly format: string;
  readonly filter?: string;
  readonly out?: string;
}

export function addExportCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('export')
      .description('export the results of a job to one file: a row per item with input, status, error and data')
      .argument('<job>', 'job id')
      .option('--format <format>', 'jsonl, csv or parquet (default: from the file name, or jsonl)')
      .option('--filter <filter>', 'all, success or errors (default: all)')
      .option('--out <file>', 'file to write (default: stdout)'),
    { hasJson: false },
  )
    .addHelpText(
      'after',
      `
The file appears once it is complete. In CSV, cells that a spreadsheet would interpret as a formula begin with an
apostrophe.

Examples:
  $ trawl jobs export parcels-2026 --out parcels.csv
  $ trawl jobs export parcels-2026 --format parquet --filter success --out parcels.parquet
  $ trawl jobs export parcels-2026 | jq .data.owner`,
    )
    .action(exportResults);
}

async function exportResults(
  jobId: string,
  options: Omit<ExportOptions, 'format'> & { format?: string },
): Promise<void> {
  const format = options.format ?? formatOf(options.out);
  if (!FORMATS.includes(format)) throw new ConfigError(`--format must be one of ${FORMATS.join(', ')}`);
  const isTerminal = options.out === undefined && process.stdout.isTTY === true;
  if (format === 'parquet' && isTerminal) {
    throw new ConfigError('refusing to write Parquet to a terminal; use --out FILE or a pipe');
  }
  await talkToApi(options, async (client) => {
    const { out } = options;
    const target =
      out === undefined ? stdoutTarget(client.out, isTerminal) : await fileTarget(out, { keepsUnfinished: false });
    try {
      const { bytes, rows } = await receive(client, jobId, { ...options, format }, target, isTerminal);
      await target.finish();
      if (out !== undefined) {
        client.note(`${out}: ${rows === null ? '' : `${formatItems(rows, 'row')}, `}${formatBytes(bytes)}`);
      }
      return EXIT.done;
    } finally {
      await target.close();
    }
  });
}

/** From the file name. An unknown extension is an error: a JSONL file named .xlsx would only be noticed much later. */
function formatOf(out = ''): string {
  const extension = extname(out).slice(1).toLowerCase();
  if (extension === '') return 'jsonl';
  if (FORMATS.includes(extension)) return extension;
  throw new ConfigError(`--out ${out}: unknown format .${extension}; set --format to one of ${FORMATS.join(', ')}`);
}

async function receive(
  { api, screen }: Client,
  jobId: string,
  { format, filter }: ExportOptions,
  target: Target,
  isTerminal: boolean,
): Promise<{ bytes: number; rows: number | null }> {
  const answer = await api.open({
    method: 'GET',
    path: `${jobPath(jobId)}/export`,
    query: { format, filter },
    headers: { accept: '*/*' },
    silenceMs: SILENCE_MS,
  });
  // Only in JSONL is every line a row: CSV cells may contain line breaks, and Parquet has no lines.
  const meter = new Meter({ clock: api.clock, totalBytes: null, lineName: format === 'jsonl' ? 'row' : null });
  const look = async () => meter.transfer();
  // A progress bar would be mixed up with the rows on a terminal.
  const display = isTerminal ? null : new ProgressDisplay({ screen, clock: api.clock, look });
  try {
    for await (const piece of meter.count(answer.bytes(), () => display?.poke())) await target.write(piece);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    throw new CommandFailed(`${errorText(error)}\nThe export is incomplete: run the command again.`, EXIT.failed);
  } finally {
    answer.close();
    await display?.stop();
  }
  const { bytes, lines } = meter.transfer();
  return { bytes, rows: lines?.count ?? null };
}

/** Nothing is sent while the filter skips items. */
const SILENCE_MS = 5 * 60_000;
