import { createHash } from 'node:crypto';
import type { Command } from 'commander';
import { ConfigError } from '../../config.ts';
import { itemPath } from '../../contract/client/api-paths.ts';
import { receiveFile } from '../../contract/client/receive-file.ts';
import { ARTIFACT_KINDS, ARTIFACT_LABEL, ARTIFACT_LABELS, ARTIFACTS } from '../../domain/artifact.ts';
import { type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { fileTarget, stdoutTarget } from '../client/file-target.ts';
import { EXIT } from '../exit-codes.ts';
import { formatBytes } from '../format.ts';
import { wholeNumber } from '../options.ts';
import { RateWindow, type Transfer } from '../progress.ts';
import { downloadAll } from './download-all.ts';

interface DownloadOptions extends ClientOptions {
  readonly artifact?: string;
  readonly kind?: string;
  readonly out?: string;
  readonly all?: true;
  readonly to?: string;
  readonly concurrency?: number;
}

/** Enough to hide the network latency, and no more than the server has slots for. */
const USUAL_CONCURRENCY = 4;

export function addDownloadCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('download')
      .description('download what was stored for an item, or for all items of a job: pages, documents, data …')
      .argument('<job>', 'job id')
      .argument('[item]', 'item id')
      .option('--artifact <kind>', ARTIFACT_LABELS)
      .option('--kind <kind>', 'the same as --artifact')
      .option('--out <file>', 'file to write (default: stdout)')
      .option('--all', 'download the artifacts of all items of the job, into the folder --to')
      .option('--to <folder>', 'folder for --all; it is created if needed')
      .option('--concurrency <n>', `files to receive at a time (default: ${USUAL_CONCURRENCY})`, wholeNumber),
  )
    .addHelpText(
      'after',
      `
The file appears once it is complete and its SHA-256 has been checked. An interrupted download resumes where it
stopped, even if the command is run again. With --out, --json prints the size and the SHA-256.

With --all, files are named after their items: 200-14-030.pdf. Characters that some file systems do not accept are
replaced, and a digest is added to the name. Files that are already there, with the right size and SHA-256, are skipped;
a file with other content is never overwritten: the new one gets a name with ~ and the beginning of its SHA-256. --json
prints one object per file.

Exit codes: 0 done, 1 some files failed, 2 bad usage or no server, 130 interrupted.

Examples:
  $ trawl jobs download parcels-2026 200-14-030 --artifact data
  $ trawl jobs download parcels-2026 200-14-030 --artifact html --out page.html
  $ trawl jobs download parcels-2026 --all --kind document --to bills`,
    )
    .action(download);
}

async function download(jobId: string, itemId: string | undefined, options: DownloadOptions): Promise<void> {
  const label = labelOf(options);
  if (options.all === true) await downloadFolder(jobId, itemId, label, options);
  else if (itemId === undefined)
    throw new ConfigError('name an item, or use --all --to FOLDER for all items of the job');
  else if (options.to !== undefined || options.concurrency !== undefined) {
    throw new ConfigError(`${options.to === undefined ? '--concurrency' : '--to'} is only for --all`);
  } else await downloadOne(jobId, itemId, label, options);
}

/** A kind of artifact; a named page is `page:taxes`. */
function labelOf({ artifact, kind = artifact }: DownloadOptions): string {
  if (artifact !== undefined && artifact !== kind) throw new ConfigError('--artifact and --kind: give one of them');
  if (kind !== undefined && ARTIFACT_LABEL.test(kind)) return kind;
  throw new ConfigError(`--artifact must be one of ${ARTIFACT_LABELS}`);
}

async function downloadFolder(
  jobId: string,
  itemId: string | undefined,
  label: string,
  options: DownloadOptions,
): Promise<void> {
  const { to, out, concurrency = USUAL_CONCURRENCY } = options;
  const json = options.json === true;
  if (itemId !== undefined) throw new ConfigError('name an item or use --all, not both');
  if (out !== undefined) throw new ConfigError('--out is for a single item; with --all, use --to FOLDER');
  if (to === undefined) throw new ConfigError('--all needs --to FOLDER');
  await talkToApi(options, (client) => downloadAll(client, jobId, { label, to, concurrency, json }));
}

async function downloadOne(jobId: string, itemId: string, artifact: string, options: DownloadOptions): Promise<void> {
  const { out } = options;
  const isTerminal = out === undefined && process.stdout.isTTY === true;
  const kind = ARTIFACT_KINDS.find((each) => each === artifact.split(':')[0]);
  if (isTerminal && kind !== undefined && !ARTIFACTS[kind].isText) {
    throw new ConfigError(`refusing to write a ${artifact} to a terminal; use --out FILE or a pipe`);
  }
  if (options.json && out === undefined)
    throw new ConfigError('--json needs --out FILE: otherwise stdout carries the artifact');
  await talkToApi(options, async (client) => {
    const { api, note } = client;
    const target =
      out === undefined ? stdoutTarget(client.out, isTerminal) : await fileTarget(out, { keepsUnfinished: true });
    const rate = new RateWindow();
    let shown = { bytes: 0, totalBytes: null as number | null };
    const look = async (): Promise<Transfer> => {
      rate.add(api.clock.elapsed(), shown.bytes);
      return { ...shown, bytesPerSecond: rate.perSecond(), lines: null };
    };
    // A progress bar would be mixed up with the text on a terminal.
    const display = out === undefined ? null : client.show(look);
    const request = { path: `${itemPath(jobId, itemId)}/download`, query: { artifact } };
    let file: Awaited<ReturnType<typeof receiveFile>>;
    try {
      const onBytes = (bytes: number, totalBytes: number | null) => {
        shown = { bytes, totalBytes };
        display?.poke();
      };
      file = await receiveFile({ api, target, startHash: () => createHash('sha256'), onBytes }, request);
      await target.finish();
    } finally {
      await display?.stop();
      await target.close();
    }
    if (options.json) await client.out.json({ file: out, size: file.size, sha256: file.sha256 });
    else if (out !== undefined) note(`${out}: ${formatBytes(file.size)}, SHA-256 ${file.sha256}`);
    return EXIT.done;
  });
}
