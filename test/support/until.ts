import { setTimeout as pause } from 'node:timers/promises';

const LOOK_EVERY_MS = 25;

/** For what no event announces. It pauses between looks, because the process being waited for needs the processor. */
export async function untilTrue(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(LOOK_EVERY_MS);
}
