import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  SetQueueAttributesCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { LANES, type Lane } from '../../../domain/lane.ts';
import { findDeadLetterQueue } from '../queue/dead-letters.ts';
import { CREATE, type Finding, nameOf, refusal } from './finding.ts';

export interface QueueDeps {
  readonly sqs: SQSClient;
  readonly queueUrls: Readonly<Record<Lane, string>>;
  readonly signal: AbortSignal;
}

const SETTINGS: Readonly<Record<Lane, string>> = {
  http: 'WEB_SCRAPER_QUEUE_URL',
  browser: 'WEB_SCRAPER_BROWSER_QUEUE_URL',
};

/**
 * Three lost workers make an item poison by themselves; a message set aside earlier would only hide that. It may also
 * be delivered repeatedly because its batch is leased, or because a worker stops while it waits.
 */
const MAX_RECEIVES = 10;

/** The longest there is. A batch whose message was dropped is found by the reaper anyway. */
const KEEP_SECONDS = 14 * 24 * 3600;

export async function inspectQueues(deps: QueueDeps): Promise<readonly Finding[]> {
  return Promise.all(LANES.map((lane) => inspectQueue(lane, deps)));
}

async function inspectQueue(lane: Lane, { sqs, queueUrls }: QueueDeps): Promise<Finding> {
  const name = `Queue (${lane})`;
  const url = queueUrls[lane];
  const problem = (message: string, advice: string): Finding => ({ name, result: 'problem', message, advice });
  try {
    const dead = await findDeadLetterQueue(sqs, url);
    const advice = `${CREATE} adds one: otherwise a message that no worker can process comes back for days`;
    if (dead === null) return problem(`${url} has no dead-letter queue`, advice);
    return { name, result: 'ok', message: `${url}, and ${queueName(dead)} for dead letters` };
  } catch (error) {
    if (!isMissing(error)) return refusal(name, error);
    return problem(
      `there is no queue ${url}, or no dead-letter queue of it`,
      `${CREATE} creates it, or set ${SETTINGS[lane]}`,
    );
  }
}

/** Creates what is missing; returns what was created. */
export async function provisionQueues(deps: QueueDeps): Promise<readonly string[]> {
  const made: string[] = [];
  for (const lane of LANES) made.push(...(await provisionQueue(lane, deps)));
  return made;
}

async function provisionQueue(lane: Lane, { sqs, queueUrls, signal }: QueueDeps): Promise<readonly string[]> {
  const how = { abortSignal: signal };
  const url = queueUrls[lane];
  const name = queueName(url);
  const policy = await redrivePolicyOf(sqs, url, signal);
  if (policy !== null && policy !== '' && (await hasDeadLetterQueue(sqs, url))) return [];

  const made: string[] = [];
  const dead = await madeQueue(sqs, `${name}-dlq`, signal);
  if (dead.isNew) made.push(`the queue ${name}-dlq`);
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: dead.url, AttributeNames: ['QueueArn'] }),
    how,
  );
  const RedrivePolicy = JSON.stringify({
    deadLetterTargetArn: Attributes?.QueueArn,
    maxReceiveCount: String(MAX_RECEIVES),
  });
  const queue = await madeQueue(sqs, name, signal);
  if (queue.isNew) {
    const isElsewhere = pathOf(queue.url) !== pathOf(url);
    made.push(`the queue ${name}${isElsewhere ? `; its URL is different: set ${SETTINGS[lane]}=${queue.url}` : ''}`);
  }
  await sqs.send(new SetQueueAttributesCommand({ QueueUrl: queue.url, Attributes: { RedrivePolicy } }), how);
  return [...made, `the dead letters of ${name}`];
}

async function madeQueue(sqs: SQSClient, name: string, signal: AbortSignal) {
  const how = { abortSignal: signal };
  try {
    const { QueueUrl: url } = await sqs.send(new GetQueueUrlCommand({ QueueName: name }), how);
    if (url !== undefined) return { url, isNew: false };
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const Attributes = { MessageRetentionPeriod: String(KEEP_SECONDS), ReceiveMessageWaitTimeSeconds: '20' };
  const { QueueUrl: url } = await sqs.send(new CreateQueueCommand({ QueueName: name, Attributes }), how);
  if (url === undefined) throw new Error(`SQS created the queue ${name} but returned no URL`);
  return { url, isNew: true };
}

/** Null if there is no such queue. */
async function redrivePolicyOf(sqs: SQSClient, url: string, signal: AbortSignal): Promise<string | null> {
  try {
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['RedrivePolicy'] }),
      { abortSignal: signal },
    );
    return Attributes?.RedrivePolicy ?? '';
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function hasDeadLetterQueue(sqs: SQSClient, url: string): Promise<boolean> {
  try {
    return (await findDeadLetterQueue(sqs, url)) !== null;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return /QueueDoesNotExist|NonExistentQueue/.test(nameOf(error));
}

function queueName(url: string): string {
  return url.split('/').at(-1) ?? '';
}

/** Account and name. One queue may have several addresses, and those of emulators are not always well-formed. */
function pathOf(url: string): string {
  return url.split('/').slice(3).join('/');
}
