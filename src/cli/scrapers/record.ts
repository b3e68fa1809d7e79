import { loadConfig } from '../../config.ts';
import type { ItemInput } from '../../domain/item.ts';
import { openScrapers } from '../../main/scrapers.ts';
import { untilToldToStop } from '../../main/stop-signal.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { shownPath } from './shown-path.ts';
import { tellUnknown } from './unknown.ts';

/** `trawl scrapers test --record` */
export async function recordScraper(
  id: string,
  asked: { readonly name: string | null; readonly input: ItemInput },
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
  const { folder, written } = recording;
  if (isJson) {
    process.stdout.write(`${JSON.stringify({ folder, case: written.name, expect: written.expect }, null, 2)}\n`);
    return;
  }
  const seen = printable(JSON.stringify(written.expect, null, 1).replaceAll(/\s+/g, ' '), 2000);
  process.stdout.write(
    `recorded ${printable(written.name)} with ${written.exchanges.length} exchanges in ${shownPath(folder)}\n` +
      `it expects ${seen}\n\nRead it before you keep it. Then:\n  $ trawl scrapers test ${id}\n`,
  );
}
