import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { buildApp } from 'fauxqs';
import { type AwsClients, type ClientOverrides, openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { spawnTied } from '../spawn-tied.ts';
import { addS3Rules } from './s3-rules.ts';

/**
 * DynamoDB, SQS and S3 on this machine, spoken to over HTTP by the real SDK. One that does not start is an error:
 * the suite cannot run without it.
 */
export interface Emulators {
  readonly overrides: ClientOverrides & { readonly endpoints: Required<NonNullable<ClientOverrides['endpoints']>> };
  clients(): AwsClients;
  stop(): Promise<void>;
}

const NOBODY = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

/**
 * Emulators that run already, named as the SDK names them: those of the whole run (`global-setup.ts`), or others on
 * machines that ours do not run on. Either all three are named, or none. They are read when this file is loaded,
 * because tests set the same names for the processes that they start.
 */
const GIVEN = givenEndpoints(process.env);

export async function startEmulators(): Promise<Emulators> {
  if (GIVEN !== null) return emulatorsAt(GIVEN, async () => {});
  const [dynamo, faux] = await Promise.all([startDynamo(), startSqsAndS3()]);
  return emulatorsAt({ dynamo: dynamo.url, sqs: faux.url, s3: faux.url }, async () => {
    await Promise.all([dynamo.stop(), faux.stop()]);
  });
}

function emulatorsAt(endpoints: Emulators['overrides']['endpoints'], stop: () => Promise<void>): Emulators {
  const overrides = { ...NOBODY, endpoints };
  return { overrides, clients: () => openAwsClients(overrides), stop };
}

function givenEndpoints(environment: NodeJS.ProcessEnv): Emulators['overrides']['endpoints'] | null {
  const {
    AWS_ENDPOINT_URL_DYNAMODB: dynamo,
    AWS_ENDPOINT_URL_SQS: sqs,
    AWS_ENDPOINT_URL_S3: s3,
  } = environment as Readonly<Record<string, string | undefined>>;
  return dynamo !== undefined && sqs !== undefined && s3 !== undefined ? { dynamo, sqs, s3 } : null;
}

/** Runs in memory, in a process of its own. */
export async function startDynamo(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  if (GIVEN !== null) return { url: GIVEN.dynamo, stop: async () => {} };
  const binary = dynamoBinary();
  for (let tries = 1; ; tries += 1) {
    const started = await tryDynamo(binary, await freePort());
    if (!('problem' in started)) return started;
    // Between the look for a free port and its use, another test file may have taken it.
    if (tries === MAX_PORTS) throw new Error(started.problem);
  }
}

const MAX_PORTS = 5;
const DYNAMO_PACKAGE = '@dynoxide/linux-x64';

function dynamoBinary(): string {
  try {
    return createRequire(import.meta.url).resolve(`${DYNAMO_PACKAGE}/dynoxide`);
  } catch (cause) {
    throw new Error(
      `the DynamoDB emulator is missing: the package ${DYNAMO_PACKAGE} is not installed. It is an optional dependency, ` +
        `which npm leaves out with --omit=optional and wherever it is not for the machine: it is for Linux on x64, and ` +
        `this is ${process.platform} on ${process.arch}. There, run npm ci; elsewhere, start emulators of DynamoDB, SQS ` +
        `and S3 yourself and set AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_SQS and AWS_ENDPOINT_URL_S3`,
      { cause },
    );
  }
}

/** It listens when it says so: an answer at the port may come from another program. */
async function tryDynamo(binary: string, port: number) {
  const child = spawnTied(binary, ['--host', '127.0.0.1', '--port', String(port)], { stdout: 'ignore' });
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  const said: string[] = [];
  const { promise: listens, resolve } = Promise.withResolvers<void>();
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said.push(text);
    if (said.join('').includes(`listening on http://127.0.0.1:${port}`)) resolve();
  });
  const url = `http://127.0.0.1:${port}`;
  const early = ended.then(([code]) => `the DynamoDB emulator ended with ${code}: ${said.join('')}`);
  const problem = await Promise.race([listens.then(() => answers(url)), early]);
  if (problem === null && child.exitCode === null && child.signalCode === null) return { url, stop };
  await stop();
  return { problem: problem ?? (await early) };
}

export async function startS3(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  return GIVEN === null ? startSqsAndS3() : { url: GIVEN.s3, stop: async () => {} };
}

/** Runs in this process. Without the rules of S3 it would be one of those servers that only look like S3. */
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

/** Null, or what is wrong. */
async function answers(url: string): Promise<string | null> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      await fetch(url, { signal: AbortSignal.timeout(10_000) });
      return null;
    } catch (error) {
      if (Date.now() > deadline) return `the DynamoDB emulator does not answer at ${url}: ${error}`;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
