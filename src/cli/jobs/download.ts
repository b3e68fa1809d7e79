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
import { RateWindow, type Transfer } from '../progress.ts';

interface DownloadOptions extends ClientOptions {
  readonly artifact: string;
  readonly out?: string;
}

export function addDownloadCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('download')
      .description('download what was stored for an item: its page, its data …')
      .argument('<job>', 'job id')
      .argument('<item>', 'item id')
      .requiredOption('--artifact <kind>', ARTIFACT_LABELS)
      .option('--out <file>', 'file to write (default: stdout)'),
  )
    .addHelpText(
      'after',
      `
The file appears once it is complete and its SHA-256 has been checked. An interrupted download resumes where it
stopped, even if the command is run again. With --out, --json prints the size and the SHA-256.

Examples:
  $ trawl jobs download parcels-2026 200-14-030 --artifact data
  $ trawl jobs download parcels-2026 200-14-030 --artifact html --out page.html`,
    )
    .action(download);
}

async function download(jobId: string, itemId: string, options: DownloadOptions): Promise<void> {
  const { artifact, out } = options;
  const isTerminal = out === undefined && process.stdout.isTTY === true;
  const kind = ARTIFACT_KINDS.find((each) => each === artifact.split(':')[0]);
  if (kind === undefined || !ARTIFACT_LABEL.test(artifact)) {
    throw new ConfigError(`--artifact must be one of ${ARTIFACT_LABELS}`);
  }
  if (isTerminal && !ARTIFACTS[kind].isText) {
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
