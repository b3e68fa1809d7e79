import type { Command } from 'commander';
import { ConfigError } from '../../config.ts';
import { ARTIFACT_KINDS, ARTIFACTS } from '../../domain/artifact.ts';
import { itemPath } from '../client/api-paths.ts';
import { type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { fileTarget, stdoutTarget } from '../client/file-target.ts';
import { receiveFile } from '../client/receive-file.ts';
import { EXIT } from '../exit-codes.ts';
import { formatBytes } from '../format.ts';
import { RateWindow, type Transfer } from '../progress.ts';
import { ProgressDisplay } from '../progress-display.ts';

interface DownloadOptions extends ClientOptions {
  readonly artifact: string;
  readonly out?: string;
}

export function addDownloadCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('download')
      .description('what was kept of one item: its page, its data …')
      .argument('<job>', 'the id of the job')
      .argument('<item>', 'the id of the item')
      .requiredOption('--artifact <kind>', ARTIFACT_KINDS.join(', '))
      .option('--out <file>', 'where to write it; stdout otherwise'),
  )
    .addHelpText(
      'after',
      `
The file appears when it is complete and its SHA-256 is right. What breaks off goes on where it was, also by the same
command again. With --out, --json prints its size and its SHA-256.

Examples:
  $ trawl jobs download parcels-2026 200-14-030 --artifact data
  $ trawl jobs download parcels-2026 200-14-030 --artifact html --out page.html`,
    )
    .action(download);
}

async function download(jobId: string, itemId: string, options: DownloadOptions): Promise<void> {
  const { artifact, out } = options;
  const isTerminal = out === undefined && process.stdout.isTTY === true;
  const kind = ARTIFACT_KINDS.find((each) => each === artifact);
  if (kind === undefined) {
    throw new ConfigError(`--artifact ${artifact}: there are ${ARTIFACT_KINDS.join(', ')}`);
  }
  if (isTerminal && !ARTIFACTS[kind].isText) {
    throw new ConfigError(`a ${artifact} is nothing for a terminal: give --out FILE, or send it into a pipe`);
  }
  if (options.json && out === undefined) throw new ConfigError('--json is for --out FILE: stdout is for the bytes');
  await talkToApi(options, async (client) => {
    const { api, screen, note } = client;
    const target =
      out === undefined ? stdoutTarget(client.out, isTerminal) : await fileTarget(out, { keepsUnfinished: true });
    const rate = new RateWindow();
    let shown = { bytes: 0, totalBytes: null as number | null };
    const look = async (): Promise<Transfer> => {
      rate.add(api.clock.elapsed(), shown.bytes);
      return { ...shown, bytesPerSecond: rate.perSecond(), lines: null };
    };
    // A small page is there before anybody could look, and text on a terminal is not to be mixed up with a bar.
    const display = out === undefined ? null : new ProgressDisplay({ screen, clock: api.clock, look });
    const request = { path: `${itemPath(jobId, itemId)}/download`, query: { artifact } };
    let file: Awaited<ReturnType<typeof receiveFile>>;
    try {
      file = await receiveFile(api, request, target, (bytes, totalBytes) => {
        shown = { bytes, totalBytes };
        display?.poke();
      });
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
