import { systemClock } from '../../src/adapters/system/clock.ts';
import { BrowserbaseProvider } from '../../src/sessions/browserbase/browserbase-provider.ts';
import { OPTIONS, patience } from './local-support.ts';

/** A process that opens a session at Browserbase, says so, and then does nothing. */
const [, , baseUrl = '', apiKey = '', temporaryDir = ''] = process.argv;
const provider = new BrowserbaseProvider({
  ...{ clock: systemClock(), baseUrl, apiKey, temporaryDir, projectId: '', timeoutSeconds: 120 },
});
const { id } = await provider.open(OPTIONS, patience());
process.stdout.write(`${id}\n`);
setInterval(() => {}, 1000);
