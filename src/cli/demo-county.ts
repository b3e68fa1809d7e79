import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ClientClock } from '../contract/client/client-clock.ts';

/** Runs the demo county in its own process, as a site is; it ends with this process, however that ends. */
export interface DemoCounty {
  readonly url: string;
  /** The numbers of its first parcels, as CSV. */
  parcels(limit: number): Promise<string>;
  /** Changes its faults from now on: see demo/fault-plan.ts. */
  misbehave(plan: object): Promise<void>;
  /** Requests it has received. */
  requests(): Promise<number>;
  close(): Promise<void>;
}

export async function startDemoCounty(parcels: number, clock: ClientClock): Promise<DemoCounty> {
  const ask = (url: string, init: RequestInit = {}) => askWithin(10_000, clock, url, init);
  const entry = fileURLToPath(new URL('../../demo/main.ts', import.meta.url));
  const child = spawn(process.execPath, [entry, '--parcels', String(parcels)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const first = once(lines, 'line').then(([line]) => String(line));
  const died = once(child, 'exit').then(([code]): never => {
    throw new Error(`the demo county ended with code ${String(code)}`);
  });
  died.catch(() => {});
  const { url }: { url: string } = JSON.parse(await Promise.race([first, died]));

  return {
    url,
    parcels: (limit) => ask(`${url}/parcels.csv?limit=${limit}`),
    async misbehave(plan) {
      await ask(`${url}/__control/faults`, { method: 'PUT', body: JSON.stringify(plan) });
    },
    async requests() {
      const stats: { requests: number } = JSON.parse(await ask(`${url}/__control/stats`));
      return stats.requests;
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}

/** Reads the whole body, so that the deadline covers all of it. */
async function askWithin(ms: number, clock: ClientClock, url: string, init: RequestInit): Promise<string> {
  const late = new AbortController();
  const answered = new AbortController();
  void clock.sleep(ms, answered.signal).then(() => {
    if (!answered.signal.aborted) late.abort(new Error(`the demo county took longer than ${ms} ms`));
  });
  try {
    const answer = await fetch(url, { ...init, signal: late.signal });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the demo county answered ${answer.status} to ${url}: ${text}`);
    return text;
  } finally {
    answered.abort();
  }
}
