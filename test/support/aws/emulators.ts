import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { buildApp } from 'fauxqs';
import { type AwsClients, type ClientOverrides, openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { addS3Rules } from './s3-rules.ts';

/**
 * DynamoDB, SQS and S3 on this machine, spoken to over HTTP by the real SDK. One that does not start is an error: there
 * is no suite without them.
 */
export interface Emulators {
  readonly overrides: ClientOverrides & { readonly endpoints: Required<NonNullable<ClientOverrides['endpoints']>> };
  clients(): AwsClients;
  stop(): Promise<void>;
}

const NOBODY = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

export async function startEmulators(): Promise<Emulators> {
  const [dynamo, faux] = await Promise.all([startDynamo(), startSqsAndS3()]);
  const overrides = { ...NOBODY, endpoints: { dynamo: dynamo.url, sqs: faux.url, s3: faux.url } };
  return {
    overrides,
    clients: () => openAwsClients(overrides),
    async stop() {
      await Promise.all([dynamo.stop(), faux.stop()]);
    },
  };
}

/** In memory, in a process of its own. */
export async function startDynamo(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const binary = createRequire(import.meta.url).resolve('@dynoxide/linux-x64/dynoxide');
  const port = await freePort();
  const child = spawn(binary, ['--host', '127.0.0.1', '--port', String(port)], { stdio: ['ignore', 'ignore', 'pipe'] });
  const said: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text));
  const ended = once(child, 'exit');
  // Whoever started it may be killed before it can stop it.
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  const url = `http://127.0.0.1:${port}`;
  await Promise.race([
    answers(url),
    ended.then(([code]) => {
      throw new Error(`the DynamoDB emulator ended with ${code}: ${said.join('')}`);
    }),
  ]);
  return {
    url,
    async stop() {
      process.off('exit', kill);
      kill();
      await ended;
    },
  };
}

/** In this process. Without the rules of S3 it is one of those servers that only look like it. */
export async function startSqsAndS3({
  hasS3Rules = true,
} = {}): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const app = buildApp({ logger: false, host: '127.0.0.1' });
  if (hasS3Rules) addS3Rules(app);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('the emulator has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async stop() {
      await app.close();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function answers(url: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    try {
      await fetch(url, { signal: AbortSignal.timeout(1000) });
      return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`the DynamoDB emulator does not answer at ${url}`, { cause: error });
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
