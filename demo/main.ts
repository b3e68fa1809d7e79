import { fstatSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startCounty } from './county.ts';

const USAGE = 'usage: node demo/main.ts [--port 0] [--parcels 100000] [--seed 1] [--faults JSON]';

const county = await start().catch((error: unknown) => {
  console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  process.exit(2);
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);
// The parent holds our standard input, by a pipe or by a channel: when it is gone, the site ends.
if (isHeldByParent()) process.stdin.once('end', stop).once('close', stop).resume();
process.once('disconnect', stop);
// Printed last, because a reader of this may already want it to end.
console.log(JSON.stringify({ url: county.url }));

async function start() {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      parcels: { type: 'string', default: '100000' },
      seed: { type: 'string', default: '1' },
      faults: { type: 'string', default: '{}' },
    },
  });
  return startCounty({
    port: Number(values.port),
    parcels: Number(values.parcels.replaceAll('_', '')),
    seed: Number(values.seed),
    faults: JSON.parse(values.faults),
  });
}

/** A terminal, a file or /dev/null says nothing about a parent. */
function isHeldByParent(): boolean {
  try {
    const input = fstatSync(0);
    return input.isFIFO() || input.isSocket();
  } catch {
    return false;
  }
}

async function stop(): Promise<void> {
  await county.close();
  process.exit(0);
}
