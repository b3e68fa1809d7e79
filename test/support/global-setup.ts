import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { makeTemporaryFolder } from './temporary-folder.ts';

const EMULATORS = new URL('aws/emulators-process.ts', import.meta.url);

/**
 * What all files of a run of `node --test --test-global-setup` share, by their environment: one set of emulators, and a
 * folder for temporary files. A file that is run without this starts its own emulators and uses the system's folder.
 */
let emulators: ChildProcess | null = null;
let removeFolder: () => void = () => {};

export async function globalSetup(): Promise<void> {
  const folder = makeTemporaryFolder();
  if (folder !== null) {
    removeFolder = folder.remove;
    process.env['TMPDIR'] = folder.path;
  }
  emulators = fork(EMULATORS, { execArgv: [] });
  const ended = once(emulators, 'exit').then(([code]) => {
    throw new Error(`the emulators ended with ${code}`);
  });
  const [environment] = await Promise.race([once(emulators, 'message'), ended]);
  ended.catch(() => {});
  Object.assign(process.env, environment);
}

export async function globalTeardown(): Promise<void> {
  if (emulators?.connected) {
    emulators.disconnect();
    await once(emulators, 'exit');
  }
  removeFolder();
}
