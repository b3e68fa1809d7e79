import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type OpenApi, openApiChecker } from '../../support/openapi.ts';
import { type DescribedOperation, type HostileRequest, hostileRequest } from './hostile-request.ts';
import { endJobs, jobsInStates, runsInStates } from './jobs-in-states.ts';
import { isVisit, sendRaw } from './send-raw.ts';

export interface Assault {
  readonly url: string;
  readonly requests: number;
  readonly seed: number;
  /** A folder around the data directory, in which nothing may appear. */
  readonly surroundings: string;
  readonly say?: (line: string) => void;
}

const PER_ROUND = 500;
const AT_ONCE = 8;
const MAX_COMPLAINTS = 20;

/**
 * Generated requests for every operation and jobs in every state. None may be answered by a 5xx (except a 503 or 504
 * where the answer depends on a site), or by anything that the OpenAPI document does not describe; afterwards the
 * service must be unchanged, and so must everything around its folder. Returns how often each status was seen.
 */
export async function assault({ url, requests, seed, surroundings, say = () => {} }: Assault) {
  const origin = new URL(url);
  const document = (await ask(url, 'GET', '/openapi.json')).json as OpenApi;
  const checker = openApiChecker(document);
  const operations = describedOperations(document);
  const around = listing(surroundings);
  const statuses: Record<string, number> = {};
  const seen = new Map<string, Set<number>>();
  const complaints: string[] = [];
  for (let sent = 0, round = 0; sent < requests && complaints.length < MAX_COMPLAINTS; round += 1) {
    const send = (method: string, path: string, body?: object) => ask(url, method, path, body);
    const targets = { jobs: await jobsInStates(send, round), runs: await runsInStates(send) };
    const count = Math.min(PER_ROUND, requests - sent);
    const generated = fc.sample(
      fc.constantFrom(...operations).chain((operation) => hostileRequest(operation, targets)),
      { numRuns: count, seed: seed + round },
    );
    const queue = generated.values();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const request of queue) {
          const status = await sendOne(origin, request, checker).catch((error: Error) => {
            complaints.push(error.message);
            return 'complaint' as const;
          });
          statuses[status] = (statuses[status] ?? 0) + 1;
          if (typeof status === 'number')
            seen.set(request.operation, (seen.get(request.operation) ?? new Set()).add(status));
        }
      }),
    );
    await endJobs((method, path) => ask(url, method, path), round);
    sent += count;
    say(`${sent} requests: ${JSON.stringify(statuses)}`);
  }
  assert.equal(complaints.length, 0, complaints.slice(0, MAX_COMPLAINTS).join('\n\n'));
  const health = await ask(url, 'GET', '/health');
  assert.deepEqual(Object.keys(health.json as object).sort(), ['status', 'uptime_seconds', 'version']);
  assert.deepEqual(listing(surroundings), around, 'something was written beside the data directory');
  return { statuses, operations: seen.size, of: operations.length };
}

async function sendOne(
  origin: URL,
  request: HostileRequest,
  checker: ReturnType<typeof openApiChecker>,
): Promise<number | 'cut'> {
  const answer = await sendRaw(origin, request);
  if (answer === null) return 'cut';
  const about = `${request.method} ${request.path.slice(0, 300)} ${JSON.stringify(request.headers).slice(0, 300)} ${request.body?.toString().slice(0, 1000)}`;
  try {
    assert.ok(answer.status < 500 || (isVisit(request) && answer.status > 502), `answered ${answer.status}`);
    // The answer to HEAD has no body to check.
    if (request.method !== 'HEAD') checker.checkAnswer(request.method, request.path, answer);
  } catch (error) {
    throw new Error(
      `${about}\n${error instanceof Error ? error.message : String(error)}\n${answer.text.slice(0, 500)}`,
    );
  }
  return answer.status;
}

function describedOperations({ paths }: OpenApi): DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const {
        operationId: id,
        parameters = [],
        requestBody,
      } = operation as typeof operation & {
        parameters?: { name: string; in: string }[];
        requestBody?: { content: object };
      };
      return {
        id,
        method: method.toUpperCase(),
        path,
        query: parameters.filter((each) => each.in === 'query').map(({ name }) => name),
        bodyTypes: Object.keys(requestBody?.content ?? {}),
      };
    }),
  );
}

/** All files around the data directory, without those inside it. */
function listing(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.startsWith(join(folder, 'data')))
    .sort();
}

async function ask(url: string, method: string, path: string, body?: object) {
  const response = await fetch(url + path, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? null : (JSON.parse(text) as unknown) };
}
