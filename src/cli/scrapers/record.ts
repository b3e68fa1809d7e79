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
    // The state from before the interruption is restored.
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
  if (recording.differences.length > 0) process.exitCode = EXIT.someItemsFailed;
  if (isJson) process.stdout.write(`${JSON.stringify(recordedJson(recording), null, 2)}\n`);
  else {
    process.stdout.write(
      `${recordedText(recording)}\n\nRead it before you keep it. Then:\n  $ trawl scrapers test ${id}\n`,
    );
    process.stderr.write(differencesText(recording, workshop));
  }
}

type Workshop = Awaited<ReturnType<typeof openScrapers>>;
type Recorded = Extract<Awaited<ReturnType<Workshop['record']>>, { kind: 'recorded' }>;

export function recordedJson({ folder, written, differences }: Recorded) {
  return { recorded: true, folder, case: written.name, expect: written.expect, differences };
}

export function recordedText({ folder, written }: Recorded): string {
  const seen = printable(JSON.stringify(written.expect, null, 1).replaceAll(/\s+/g, ' '), 2000);
  const what = `${printable(written.name)} with ${written.exchanges.length} exchanges`;
  return `recorded ${what} in ${shownPath(folder)}\nit expects ${seen}`;
}

/** Empty for a good recording. */
export function differencesText({ differences }: Recorded, workshop: Pick<Workshop, 'showDifference'>): string {
  if (differences.length === 0) return '';
  const lines = differences.map((each) => `  ${workshop.showDifference(each)}`);
  return `trawl: played again, the recording gives another result:\n${lines.join('\n')}\n`;
}

function adviceOn(
  id: string,
  { input, expectFailure }: { readonly input: ItemInput; readonly expectFailure: boolean },
) {
  if (expectFailure) return LEAVE_OUT_EXPECT_FAILURE;
  const words = ['trawl', 'try', id, ...inputWords(input)];
  return `Correct the scraper first; this shows what it does:\n  $ ${formatCommand(words)}\nIf it must fail like this, record that with --expect-failure.`;
}

export const LEAVE_OUT_EXPECT_FAILURE = 'Leave --expect-failure out to record what it returned.';

/** An input as options of a command. */
export function inputWords(input: ItemInput): string[] {
  return Object.entries(input).flatMap(([name, value]) => [
    '--input',
    typeof value === 'string' ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`,
  ]);
}
