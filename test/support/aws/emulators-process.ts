import { startEmulators } from './emulators.ts';
import { awsEnvironment } from './names.ts';

/**
 * The emulators of a whole run, in a process of their own: `node --test` follows every promise of its process, which
 * makes a server in it a third slower. It sends what to set, and ends when its parent does.
 */
const emulators = await startEmulators();
process.once('disconnect', () => void emulators.stop().finally(() => process.exit()));
process.send?.(awsEnvironment(emulators));
