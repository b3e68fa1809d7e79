import { setTimeout as pause } from 'node:timers/promises';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;

/**
 * For what no event announces. It pauses between looks, longer each time: the process being waited for needs the processor, and a
 * look is often a request that takes as long as a small item.
 */
export async function untilTrue(isSo: () => boolean | Promise<boolean>): Promise<void> {
  let ms = FIRST_PAUSE_MS;
  while (!(await isSo())) {
    await pause(ms);
    ms = Math.min(ms * 1.3, LONGEST_PAUSE_MS);
  }
}
