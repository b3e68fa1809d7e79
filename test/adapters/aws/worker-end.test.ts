import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GetQueueAttributesCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { provisionAws } from '../../../src/adapters/aws/provisioning.ts';
import { bodyOf } from '../../../src/adapters/aws/queue/message.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { loadConfig } from '../../../src/config.ts';
import { AWS_BACKEND } from '../../../src/main/aws-backend.ts';
import { NO_FAULTS } from '../../../src/ports/faults.ts';
import { operationOf } from '../../support/aws/aws-operation.ts';
import { startEmulators } from '../../support/aws/emulators.ts';
import { awsEnvironment, awsNames } from '../../support/aws/names.ts';
import { startRelay } from '../../support/aws/relay.ts';
import { roomFor } from '../../support/room.ts';

test('a worker that ends gives back the message that was on its way to it, before its connections are closed', async (t) => {
  const emulators = await startEmulators();
  t.after(() => emulators.stop());
  const clients = emulators.clients();
  t.after(clients.close);
  const { sqs } = clients;
  const names = awsNames(emulators, `ending-${process.pid}`);
  await provisionAws(clients, names, { clock: systemClock(), signal: new AbortController().signal });
  const { http } = names.queueUrls;
  const MessageBody = bodyOf({ jobId: 'j', batchId: 'b', lane: 'http' });
  await sqs.send(new SendMessageCommand({ QueueUrl: http, MessageBody }));

  const handedOut = Promise.withResolvers<void>();
  const arrives = Promise.withResolvers<void>();
  const relay = await startRelay(emulators.overrides.endpoints.sqs, async (asked, forward) => {
    const answer = await forward(asked);
    if (operationOf('sqs', asked) !== 'ReceiveMessage') return answer;
    handedOut.resolve();
    await arrives.promise;
    return answer;
  });
  t.after(() => relay.stop());
  Object.assign(process.env, awsEnvironment(emulators), { AWS_ENDPOINT_URL_SQS: relay.url });
  const aws = { kind: 'aws', ...names } as const;
  const config = loadConfig({ backend: aws }, {});
  const stop = new AbortController();
  const deps = { id: 'w', clock: systemClock(), faults: NO_FAULTS, onTrouble: () => {}, stop: stop.signal };
  const worker = await AWS_BACKEND.openWorker({ ...config, backend: aws }, deps);
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
