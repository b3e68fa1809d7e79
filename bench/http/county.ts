import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { request } from 'undici';
import { apnOf } from '../../demo/apn.ts';

const WARM_UP = 2000;
const AT_ONCE = 16;

/** The demo county in a process of its own, as it would run on another machine. */
export async function startCounty() {
  const main = join(import.meta.dirname, '..', '..', 'demo', 'main.ts');
  const child = spawn(process.execPath, [main, '--parcels', '1000000'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(child.stdout), 'line');
  const { url }: { url: string } = JSON.parse(line);
  return {
    url,
    /** Otherwise the first subject would wait for the county's compiler. */
    async warmUp(): Promise<void> {
      for (let first = 0; first < WARM_UP; first += AT_ONCE) {
        await Promise.all(
          Array.from({ length: AT_ONCE }, async (_, index) => {
            const { statusCode, body } = await request(`${url}/parcel/${apnOf(first + index)}`);
            await body.dump({ limit: 1_000_000 });
            if (statusCode !== 200) throw new Error(`the county answers ${statusCode}`);
          }),
        );
      }
    },
    /** Requests that the county has seen. */
    async requests(): Promise<number> {
      const { body } = await request(`${url}/__control/stats`);
      return ((await body.json()) as { requests: number }).requests;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
