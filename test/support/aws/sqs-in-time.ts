import { mock } from 'node:test';
import { CreateQueueCommand, GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { type BuildAppOptions, buildApp } from 'fauxqs';
import { type AwsClients, openAwsClients } from '../../../src/adapters/aws/clients.ts';
import type { Lane } from '../../../src/domain/lane.ts';

type Stores = NonNullable<BuildAppOptions['stores']>;
type SqsStore = Stores['sqsStore'];

/**
 * SQS over HTTP, in this process, with time that passes only on request. The emulator reads the time from `Date`,
 * which is stopped here for the whole process; timers are the real ones, so that HTTP works as usual.
 */
export interface SqsInTime {
  clients(): AwsClients;
  /** Two queues without messages. With `maxReceives`, what is received more often is moved to a queue of its own. */
  createQueues(options?: { readonly maxReceives?: number }): Promise<Record<Lane, string>>;
  /** Messages that are no longer hidden are available afterwards, also to waiting receivers. */
  advance(ms: number): void;
  stop(): Promise<void>;
}

export async function startSqsInTime(): Promise<SqsInTime> {
  mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const store = await openStore();
  const app = buildApp({ logger: false, host: '127.0.0.1', stores: { sqsStore: store } as Stores });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('the emulator has no port');
  const url = `http://127.0.0.1:${address.port}`;
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const clients = () => openAwsClients({ region: 'us-east-1', credentials, endpoints: { sqs: url } });
  const own = clients();
  let queues = 0;
  return {
    clients,
    async createQueues({ maxReceives } = {}) {
      queues += 1;
      const create = async (lane: Lane) => {
        const name = `${lane}-${queues}`;
        const redrive =
          maxReceives === undefined ? {} : { RedrivePolicy: await redriveTo(`${name}-dead`, maxReceives) };
        return createQueue(own.sqs, name, redrive);
      };
      return { http: await create('http'), browser: await create('browser') };
    },
    advance(ms) {
      mock.timers.tick(ms);
      store.processAllTimers();
    },
    async stop() {
      own.close();
      await app.close();
      mock.timers.reset();
    },
  };

  async function redriveTo(name: string, maxReceives: number): Promise<string> {
    const QueueUrl = await createQueue(own.sqs, name);
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] });
    const { Attributes = {} } = await own.sqs.send(command);
    return JSON.stringify({ deadLetterTargetArn: Attributes.QueueArn, maxReceiveCount: maxReceives });
  }
}

async function createQueue(sqs: SQSClient, name: string, attributes: Record<string, string> = {}): Promise<string> {
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
  if (QueueUrl === undefined) throw new Error(`no queue ${name}`);
  return QueueUrl;
}

/** The emulator takes one that is given to it, but does not export what makes it. */
async function openStore(): Promise<SqsStore> {
  const { href } = new URL('sqs/sqsStore.js', import.meta.resolve('fauxqs'));
  const { SqsStore: Store } = (await import(href)) as { readonly SqsStore: new () => SqsStore };
  return new Store();
}
