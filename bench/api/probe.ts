import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * Sends one request after another, in a separate thread, so that the rest of the benchmark is not measured: the job, and
 * pages of its items from all over it. Answers how long each took, when it is stopped.
 */
const { url, jobId, everyMs } = workerData as { url: string; jobId: string; everyMs: number };
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const job: number[] = [];
const pages: { ms: number; path: string }[] = [];
const base = `/jobs/${jobId}/items`;
const LISTS = ['', 'status=success', 'status=pending', 'status=in_progress', 'status=failed', 'error_type=timeout'];
const cursors = new Map<string, string | null>();
let isOver = false;
parentPort?.on('message', () => {
  isOver = true;
});

for (let turn = 0; !isOver; turn += 1) {
  job.push((await get(`/jobs/${jobId}`)).ms);
  await pause(everyMs);
  const list = LISTS[turn % LISTS.length] ?? '';
  const cursor = cursors.get(list);
  const path = `${base}?limit=100&${list}${cursor ? `&cursor=${cursor}` : ''}`;
  const { ms, body } = await get(path);
  pages.push({ ms, path });
  cursors.set(list, (JSON.parse(body) as { next_cursor: string | null }).next_cursor);
  await pause(everyMs);
}
agent.destroy();
parentPort?.postMessage({ job, pages });
parentPort?.close();

function get(path: string): Promise<{ ms: number; body: string }> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request(url + path, { agent }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve({ ms: performance.now() - begun, body }));
    });
    asked.on('error', reject);
    asked.end();
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
