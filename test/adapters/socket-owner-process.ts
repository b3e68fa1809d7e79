import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestOwner } from './socket-owner.ts';

/** An owner in a process of its own, to be killed; it says where it listens. */
const owner = new TestOwner(mkdtempSync(join(tmpdir(), 'trawl-owner-')));
await owner.serve();
process.stdout.write(`${owner.socketPath}\n`);
