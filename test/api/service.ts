import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { type Config, loadConfig } from '../../src/config.ts';
import type { BackendKind } from '../../src/main/backend.ts';
import { type Engine, openEngine } from '../../src/main/engine.ts';
import '../support/warm-workers.ts';

/** An answer of the API, with its body parsed if it is JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

export interface Asked {
  readonly json?: unknown;
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  /** `manual`: a redirect is returned as it is, not followed. */
  readonly redirect?: 'manual' | 'follow';
}

export interface Service {
  readonly url: string;
  readonly backend: BackendKind;
  readonly engine: Engine;
  readonly dataDir: string;
  ask(method: string, path: string, asked?: Asked): Promise<Answer>;
  /** `apiGraceMs` is how long answers that are being written may take. */
  stop(apiGraceMs?: number): Promise<void>;
}

/** This is longer than a busy machine delays a worker: an expired lease makes an item run twice, and tests count. */
const LEASE_MS = 30_000;

/** The whole service in this process, on a port of its own, with real worker processes unless `workers` is 0. */
export async function startService(overrides: Partial<Config> & { readonly workers?: number } = {}): Promise<Service> {
  const dataDir = overrides.dataDir ?? mkdtempSync(join(tmpdir(), 'trawl-api-'));
  const { workers = 1, ...others } = overrides;
  const config = loadConfig(
    { workers: Math.max(1, workers), slots: 8, logLevel: 'silent', leaseMs: LEASE_MS, port: 0, dataDir, ...others },
    {},
  );
  const engine = await openEngine(config);
  const url = await engine.listen().catch(async (error: unknown) => {
    await engine.stop();
    rmSync(dataDir, { recursive: true, force: true });
    throw error;
  });
  if (workers > 0) await engine.startWorkers().ready;
  let stopping: Promise<void> | null = null;
  const stop = (apiGraceMs?: number) => {
    stopping ??= engine.stop(apiGraceMs);
    return stopping;
  };
  after(async () => {
    await stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const { kind: backend } = config.backend;
  return { url, backend, engine, dataDir, stop, ask: (method, path, asked = {}) => ask(url + path, method, asked) };
}

export async function ask(
  address: string,
  method: string,
  { json, body, headers = {}, redirect = 'follow' }: Asked,
): Promise<Answer> {
  const content = json === undefined ? body : JSON.stringify(json);
  const response = await fetch(address, {
    method,
    redirect,
    headers: { ...(json === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(content === undefined ? {} : { body: content, duplex: 'half' as const }),
  });
  const text = await response.text();
  const isJson =
    /\bjson\b/.test(response.headers.get('content-type') ?? '') &&
    !response.headers.get('content-type')?.includes('ndjson');
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : null };
}
