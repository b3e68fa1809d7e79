import { readFileSync } from 'node:fs';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { LocalProvider } from '../../src/sessions/local/local-provider.ts';
import { processesWith } from '../support/processes.ts';
import { OPTIONS, patience } from './local-support.ts';

/** A process that opens two browsers, reports them, and idles. If `stopped`, the browsers cannot end themselves. */
const [, , temporaryDir = '', path = '', how = ''] = process.argv;
const provider = new LocalProvider({
  ...{ clock: systemClock(), temporaryDir },
  chromium: async () => ({ path, version: '', sandbox: false }),
});
const sessions = [await provider.open(OPTIONS, patience()), await provider.open(OPTIONS, patience())];
for (const session of sessions) await session.browser.newPage();
const browsers = sessions.flatMap((session) => session.pids());
if (how === 'stopped') for (const pid of browsers) process.kill(pid, 'SIGSTOP');
const guardian = processesWith('guardian.sh').find((pid) =>
  readFileSync(`/proc/${pid}/stat`, 'utf8').includes(` ${process.pid} `),
);
const profiles = sessions.map((session) => {
  const [, profile = ''] =
    /--user-data-dir=([^\0]+)/.exec(readFileSync(`/proc/${session.pids()[0]}/cmdline`, 'utf8')) ?? [];
  return profile;
});
process.stdout.write(`${JSON.stringify({ browsers, guardian, profiles })}\n`);
setInterval(() => {}, 1000);
