import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { bodyOf } from '../../../src/adapters/aws/queue/message.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { loadConfig } from '../../../src/config.ts';
import { NO_FAULTS } from '../../../src/ports/faults.ts';
import { openAwsWorker } from '../../../src/wiring-aws.ts';
import { operationOf } from '../../support/aws/aws-operation.ts';
import { startSqsAndS3 } from '../../support/aws/emulators.ts';
import { startRelay } from '../../support/aws/relay.ts';
import { roomFor } from '../../support/room.ts';

const NOBODY = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

test('a worker that ends gives back the message that was on its way to it, before its connections are closed', async (t) => {
  const faux = await startSqsAndS3();
  t.after(() => faux.stop());
  const { sqs, close } = openAwsClients({ ...NOBODY, endpoints: { sqs: faux.url } });
  t.after(close);
  const { QueueUrl: http = '' } = await sqs.send(new CreateQueueCommand({ QueueName: 'ending' }));
  const MessageBody = bodyOf({ jobId: 'j', batchId: 'b', lane: 'http' });
  await sqs.send(new SendMessageCommand({ QueueUrl: http, MessageBody }));

  const handedOut = Promise.withResolvers<void>();
  const arrives = Promise.withResolvers<void>();
  const relay = await startRelay(faux.url, async (asked, forward) => {
    const answer = await forward(asked);
    if (operationOf('sqs', asked) !== 'ReceiveMessage') return answer;
    handedOut.resolve();
    await arrives.promise;
    return answer;
  });
  t.after(() => relay.stop());
  Object.assign(process.env, {
    AWS_REGION: NOBODY.region,
    AWS_ACCESS_KEY_ID: NOBODY.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: NOBODY.credentials.secretAccessKey,
    AWS_ENDPOINT_URL_SQS: relay.url,
  });
  const aws = { kind: 'aws', tableName: 'ending', bucket: 'ending', queueUrls: { http, browser: http } } as const;
  const config = loadConfig({ backend: aws }, {});
  const parts = { id: 'w', clock: systemClock(), faults: NO_FAULTS, onTrouble: () => {} };
  const worker = await openAwsWorker(config, aws, parts);
  const stop = new AbortController();
  const receiving = worker.source.take('http', roomFor(1), 60_000, stop.signal);
  await handedOut.promise;
  stop.abort();
  assert.deepEqual(await receiving, []);
  const closing = worker.close();
  arrives.resolve();
  await closing;
  const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: http, AttributeNames: [...AttributeNames] }),
  );
  assert.deepEqual({ ...Attributes }, { ApproximateNumberOfMessages: '1', ApproximateNumberOfMessagesNotVisible: '0' });
});
