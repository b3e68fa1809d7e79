import { carryOut } from './sweep.ts';

/** A process that runs the seeds it is sent. It ends when its parent does. */
process.on('message', async (order: Parameters<typeof carryOut>[0]) => {
  process.send?.(await carryOut(order));
});
