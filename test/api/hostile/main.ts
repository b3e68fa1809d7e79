import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startServe } from '../../../bench/api/service.ts';
import { assault } from './assault.ts';

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '50000' }, seed: { type: 'string', default: '1' } },
});
const surroundings = mkdtempSync(join(tmpdir(), 'trawl-hostile-'));
const service = await startServe(join(surroundings, 'data'), { workers: 1, slots: 64 });
try {
  const answer = await assault({
    url: service.url,
    requests: Number(values.requests),
    seed: Number(values.seed),
    surroundings,
    say: (line) => console.error(line),
  });
  // This applies even where the sender did not wait for the answer.
  if (service.errors.length > 0) throw new Error(service.errors.slice(0, 10).join('\n'));
  console.log(JSON.stringify(answer));
} finally {
  await service.stop();
  rmSync(surroundings, { recursive: true, force: true });
}
