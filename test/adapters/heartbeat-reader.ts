import { parentPort, workerData } from 'node:worker_threads';
import { LeaseTable } from '../../src/worker/lease-table.ts';

/** Reads a table over and over while another thread writes it; every receipt must be the one of its token. */
const table = new LeaseTable(workerData as SharedArrayBuffer);
let reads = 0;
let mixtures = 0;
while (table.ticks === 0) {
  for (const { token, receipt } of table.read()) {
    reads += 1;
    if (receipt !== `${token}/${'r'.repeat(token.length)}`) mixtures += 1;
  }
}
parentPort?.postMessage({ reads, mixtures });
