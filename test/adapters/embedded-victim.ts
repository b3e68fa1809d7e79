import { openEmbeddedLedger } from '../../src/adapters/embedded/ledger.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { takeOut } from '../contract/ledger/hands.ts';
import { NOW, newItems, newJob, partOf } from '../support/builders.ts';

/** Works on a job of its own as fast as it can, and prints how many items were acknowledged. To be killed. */
const [dataDir = ''] = process.argv.slice(2);
const { ledger } = openEmbeddedLedger({ dataDir, clock: systemClock(), bootId: 'boot-1' });
await ledger.createJob(newJob(), [], NOW);

let acknowledged = 0;
for (let chunk = 0; ; chunk += 1) {
  await ledger.addItems('job-1', newItems(50, { prefix: `chunk-${chunk}` }), NOW, NOW);
  for (let leases = await takeOut(ledger, 'job-1'); leases.length > 0; leases = await takeOut(ledger, 'job-1')) {
    await ledger.settle(
      leases.map((lease) => partOf(lease)),
      NOW,
    );
    acknowledged += leases.length;
    process.stdout.write(`${acknowledged}\n`);
  }
}
