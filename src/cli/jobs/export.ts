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

export const FORMATS = ['jsonl', 'csv', 'parquet', 'zip'];

interface ExportOptions extends Pick<ClientOptions, 'url'> {
  readonly format?: string;
  readonly filter?: string;
  readonly explode?: string;
  readonly bom?: true;
  readonly out?: string;
}

export function addExportCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('export')
      .description('export the results of a job to one file: a row per item with input, status, error and data')
      .argument('<job>', 'job id')
      .option(
        '--format <format>',
        'jsonl, csv, parquet or, for documentation pulls, zip (default: from the file name, or jsonl)',
      )
      .option('--filter <filter>', 'all, success or errors (default: all)')
      .option('--explode <list>', 'a row per entry of a list in the data, such as bills, instead of a row per item')
      .option('--bom', 'begin a CSV with a byte order mark, so that Excel reads it as UTF-8')
      .option('--out <file>', 'file to write (default: stdout)'),
    { hasJson: false },
  )
    .addHelpText(
      'after',
      `
The file appears once it is complete. In CSV, cells that a spreadsheet would interpret as a formula begin with an
apostrophe. In JSONL, a row whose stored data cannot be read says so in data_problem, and the exit code is 1.

html_path, screenshot_path and document_path say where the files of an item are: relative to the results folder of the
server, or keys in the bucket. To fetch them: trawl jobs download JOB --all. See docs/exporting.md.

Examples:
  $ trawl jobs export parcels-2026 --out parcels.csv
  $ trawl jobs export parcels-2026 --format parquet --filter success --out parcels.parquet
  $ trawl jobs export parcels-2026 --explode bills --bom --out bills.csv
  $ trawl jobs export parcels-2026 | jq .data.owner`,
    )
    .action(exportResults);
}

async function exportResults(jobId: string, options: ExportOptions): Promise<void> {
  const format = options.format ?? formatOf(options.out);
  if (!FORMATS.includes(format)) throw new ConfigError(`--format must be one of ${FORMATS.join(', ')}`);
  if (options.bom && format !== 'csv') throw new ConfigError('--bom is only for CSV');
  const isTerminal = options.out === undefined && process.stdout.isTTY === true;
  if ((format === 'parquet' || format === 'zip') && isTerminal) {
    throw new ConfigError(
      `refusing to write ${format === 'zip' ? 'a zip' : 'Parquet'} to a terminal; use --out FILE or a pipe`,
    );
  }
  await talkToApi(options, async (client) => {
    const { out, filter, explode, bom } = options;
    const target =
      out === undefined ? stdoutTarget(client.out, isTerminal) : await fileTarget(out, { keepsUnfinished: false });
    const { bytes, rows, withoutData } = await exportTo(client, target, jobId, {
      ...{ format, filter, explode, bom },
      // A progress bar would be mixed up with the rows on a terminal.
      showsProgress: !isTerminal,
    });
    if (out !== undefined) {
      client.note(`${out}: ${rows === null ? '' : `${formatItems(rows, 'row')}, `}${formatBytes(bytes)}`);
    }
    if (withoutData > 0) client.note(withoutDataText(withoutData));
    return withoutData > 0 ? EXIT.someItemsFailed : EXIT.done;
  });
}

export function withoutDataText(rows: number): string {
  return `${formatItems(rows, 'row')} without the data that was stored: its file is missing or damaged (see trawl verify)`;
}

/** From the file name. An unknown extension is an error: a JSONL file named .xlsx would only be noticed much later. */
function formatOf(out = ''): string {
  const extension = extname(out).slice(1).toLowerCase();
  if (extension === '') return 'jsonl';
  if (FORMATS.includes(extension)) return extension;
  throw new ConfigError(`--out ${out}: unknown format .${extension}; set --format to one of ${FORMATS.join(', ')}`);
}

interface Exported {
  readonly bytes: number;
  readonly rows: number | null;
  /** Rows whose data could not be read back; only counted in JSONL. */
  readonly withoutData: number;
}

interface ExportWish {
  readonly format: string;
  readonly filter?: string | undefined;
  readonly explode?: string | undefined;
  readonly bom?: true | undefined;
  readonly showsProgress: boolean;
}

/** Writes the results to `target` and closes it. */
export async function exportTo(
  { api, show }: Client,
  target: Target,
  jobId: string,
  { format, filter, explode, bom, showsProgress }: ExportWish,
): Promise<Exported> {
  // Only in JSONL is every line a row: CSV cells may contain line breaks, and Parquet has no lines.
  const meter = new Meter({ clock: api.clock, totalBytes: null, lineName: format === 'jsonl' ? 'row' : null });
  const damage = new Occurrences(WITHOUT_DATA);
  const look = async () => meter.transfer();
  const display = showsProgress ? show(look) : null;
  try {
    const answer = await api.open({
      method: 'GET',
      path: `${jobPath(jobId)}/export`,
      query: { format, filter, explode, bom: bom && 'true' },
      headers: { accept: '*/*' },
      silenceMs: SILENCE_MS,
    });
    try {
      for await (const piece of meter.count(answer.bytes(), () => display?.poke())) {
        damage.countIn(piece);
        await target.write(piece);
      }
    } finally {
      answer.close();
    }
    await target.finish();
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    throw new CommandFailed(`${errorText(error)}\nThe export is incomplete: run the command again.`, EXIT.failed);
  } finally {
    await target.close();
    await display?.stop();
  }
  const { bytes, lines } = meter.transfer();
  return { bytes, rows: lines?.count ?? null, withoutData: damage.count };
}

/** Matches within a row of JSONL: quotes in a text are escaped, so that no text of a site can look like it. */
const WITHOUT_DATA = Buffer.from(',"data":null,"data_problem":"');

/** Counts the occurrences of some bytes in a stream of pieces. */
class Occurrences {
  count = 0;
  readonly #wanted: Buffer;
  #tail: Buffer = Buffer.alloc(0);

  constructor(wanted: Buffer) {
    this.#wanted = wanted;
  }

  countIn(piece: Uint8Array): void {
    const bytes = Buffer.concat([this.#tail, piece]);
    for (let at = bytes.indexOf(this.#wanted); at >= 0; at = bytes.indexOf(this.#wanted, at + 1)) this.count += 1;
    // Too short to contain a whole occurrence again.
    this.#tail = bytes.subarray(Math.max(0, bytes.length - this.#wanted.length + 1));
  }
}

/** Nothing is sent while the filter skips items. */
const SILENCE_MS = 5 * 60_000;
