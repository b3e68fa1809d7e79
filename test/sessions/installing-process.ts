import { appendFileSync } from 'node:fs';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { ensureChromium } from '../../src/sessions/chromium/ensure-chromium.ts';

/** A process that finds no Chromium and installs one, which takes a moment or for ever. */
const [, , cacheDir = '', log = '', how = 'quick', path = ''] = process.argv;
const clock = systemClock();
const found = await ensureChromium({
  ...{ chosenPath: '', cacheDir, clock, places: () => [] },
  onProgress: (line) => process.stderr.write(`${line}\n`),
  ways: [
    {
      name: 'the only way',
      isPossible: () => true,
      async install() {
        appendFileSync(log, 'x');
        await clock.sleep(how === 'never' ? Number.POSITIVE_INFINITY : 1500);
        return { paths: [path] };
      },
    },
  ],
});
process.stdout.write(`${found.path}\n`);
