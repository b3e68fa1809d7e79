import { type Emulators, startEmulators } from './aws/emulators.ts';
import { awsEnvironment } from './aws/names.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';

/**
 * What all files of a run of `node --test --test-global-setup` share, by their environment: one set of emulators, and a
 * folder for temporary files. A file that is run without this starts its own emulators and uses the system's folder.
 */
let emulators: Emulators | null = null;
let removeFolder: () => void = () => {};

export async function globalSetup(): Promise<void> {
  const folder = makeTemporaryFolder();
  if (folder !== null) {
    removeFolder = folder.remove;
    process.env['TMPDIR'] = folder.path;
  }
  emulators = await startEmulators();
  Object.assign(process.env, awsEnvironment(emulators));
}

export async function globalTeardown(): Promise<void> {
  await emulators?.stop();
  removeFolder();
}
