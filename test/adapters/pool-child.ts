import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onParentGone } from '../../src/worker/parent.ts';

/** A worker process that does nothing: `polite` ends when asked to, `stubborn` does not. It says when it is ready. */
onParentGone(() => process.exit(3));
setInterval(() => {}, 60_000);
process.on('SIGTERM', () => {
  if (process.argv[2] === 'polite') process.exit(0);
});
const folder = process.env['POOL_TEST_FOLDER'];
if (folder === undefined) process.stdout.write('ready\n');
else writeFileSync(join(folder, String(process.pid)), '');
