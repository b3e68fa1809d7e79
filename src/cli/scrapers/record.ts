import { loadConfig } from '../../config.ts';
import type { ItemInput } from '../../domain/item.ts';
import { openScrapers } from '../../main/scrapers.ts';
import { untilToldToStop } from '../../main/stop-signal.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCommand, printable } from '../format.ts';
import { shownPath } from './shown-path.ts';
import { tellUnknown } from './unknown.ts';

/** `trawl scrapers test --record` */
export async function recordScraper(
  id: string,
  asked: { readonly name: string | null; readonly input: ItemInput; readonly expectFailure: boolean },
  isJson: boolean,
): Promise<void> {
  const workshop = await openScrapers(loadConfig());
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  const recording = await workshop.record(id, asked, stop.signal).catch((error: unknown) => {
    // What was there before the interruption is there now.
    if (!stop.signal.aborted) throw error;
    process.exitCode = EXIT.interrupted;
    return 'interrupted' as const;
  });
  if (recording === 'interrupted') return;
  if (recording === null) {
    tellUnknown(id, workshop.ids());
    return;
  }
  if (recording.kind === 'refused') {
    process.exitCode = EXIT.someItemsFailed;
    if (isJson) process.stdout.write(`${JSON.stringify({ recorded: false, because: recording.because }, null, 2)}\n`);
    process.stderr.write(
      `trawl: nothing was recorded: ${printable(recording.because, 2000)}\n${adviceOn(id, asked)}\n`,
    );
    return;
  }
  const { folder, written, differences } = recording;
  if (differences.length > 0) process.exitCode = EXIT.someItemsFailed;
  if (isJson) {
    const answer = { recorded: true, folder, case: written.name, expect: written.expect, differences };
    process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
    return;
  }
  const seen = printable(JSON.stringify(written.expect, null, 1).replaceAll(/\s+/g, ' '), 2000);
  process.stdout.write(
    `recorded ${printable(written.name)} with ${written.exchanges.length} exchanges in ${shownPath(folder)}\n` +
      `it expects ${seen}\n\nRead it before you keep it. Then:\n  $ trawl scrapers test ${id}\n`,
  );
  if (differences.length === 0) return;
  const lines = differences.map((each) => `  ${workshop.showDifference(each)}`);
  process.stderr.write(`trawl: played again, the recording gives another result:\n${lines.join('\n')}\n`);
}

function adviceOn(
  id: string,
  { input, expectFailure }: { readonly input: ItemInput; readonly expectFailure: boolean },
) {
  if (expectFailure) return 'Leave --expect-failure out to record what it returned.';
  const fields = Object.entries(input).map(([name, value]) =>
    typeof value === 'string' ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`,
  );
  const words = ['trawl', 'try', id, ...fields.flatMap((field) => ['--input', field])];
  return `Correct the scraper first; this shows what it does:\n  $ ${formatCommand(words)}\nIf it must fail like this, record that with --expect-failure.`;
}
