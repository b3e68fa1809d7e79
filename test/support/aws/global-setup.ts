import { type Emulators, startEmulators } from './emulators.ts';
import { awsEnvironment } from './names.ts';

/**
 * One set of emulators for a whole run of `node --test --test-global-setup`: every test file finds them in its
 * environment. A file that is run without this starts its own.
 */
let emulators: Emulators | null = null;

export async function globalSetup(): Promise<void> {
  emulators = await startEmulators();
  Object.assign(process.env, awsEnvironment(emulators));
}

export async function globalTeardown(): Promise<void> {
  await emulators?.stop();
}
