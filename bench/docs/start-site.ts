import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { request } from 'undici';

const WARM_UP = 1000;

/** The site in a process of its own, as it would run on another machine. */
export async function startSite() {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'site.ts')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(child.stdout), 'line');
  const { url }: { url: string } = JSON.parse(line);
  // Otherwise the first subject would wait for the compiler of the site.
  for (let page = 0; page < WARM_UP; page += 1) {
    const { body } = await request(`${url}/warm-up/${page}`);
    await body.dump({ limit: 1_000_000 });
  }
  return {
    url,
    async [Symbol.asyncDispose](): Promise<void> {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
