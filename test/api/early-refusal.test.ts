import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { z } from 'zod';
import { Problem } from '../../src/contract/problem.ts';
import { operation } from '../../src/controller/api/operation.ts';
import { buildServer } from '../../src/controller/api/server.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { untilTrue } from '../support/until.ts';

const clock = new FakeClock();
const silent = () => {};
const { app } = buildServer({
  operations: [
    operation({
      ...{ id: 'refuse', method: 'POST', path: '/lists', tag: 'items', summary: 'Refuses every list.', access: 'open' },
      body: { kind: 'stream', contentTypes: { 'text/csv': { schema: z.string(), example: '' } } },
      answers: {},
      async handle({ stream }) {
        // This is how a list is refused at its first line, while the others are still on their way.
        for await (const _ of stream) break;
        throw new Problem('malformed_request', 'The first line is bad.');
      },
    }),
  ],
  keys: { accessOf: () => null, isEmpty: true },
  hosts: { has: () => true },
  ...{ clock, log: { debug: silent, info: silent, warn: silent, error: silent } },
  ...{ onStorageTrouble: silent, observe: silent },
});
await app.listen({ port: 0, host: '127.0.0.1' });
after(() => app.close());

const BODY = 'bad,line\n1,2\n';
const HEAD = `POST /lists HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\ncontent-length: ${BODY.length}\r\n\r\n`;

async function openSocket(): Promise<{ readonly socket: Socket; readonly received: () => string }> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(socket, 'connect');
  return { socket, received: () => text };
}

/** Sends the first line, and resolves when it has been refused and the server waits for the rest. */
async function sendFirstLine(socket: Socket, received: () => string): Promise<void> {
  const before = received();
  socket.write(`${HEAD}bad,line\n`);
  await untilTrue(() => clock.sleepers > 0 || received() !== before);
  assert.equal(received(), before);
}

test('a body that is refused at its first line is read to its end and then answered: the connection can be reused', async () => {
  const { socket, received } = await openSocket();
  await sendFirstLine(socket, received);
  socket.write('1,2\n');
  await untilTrue(() => received().includes('The first line is bad.'));
  assert.match(received(), /^HTTP\/1\.1 400 /);
  assert.doesNotMatch(received(), /connection: close/i);

  await sendFirstLine(socket, received);
  socket.write('1,2\n');
  await untilTrue(() => received().split('HTTP/1.1 400 ').length === 3);
  socket.destroy();
});

test('a sender that stops sending is answered after a moment, and the connection is closed', async () => {
  const { socket, received } = await openSocket();
  const closed = once(socket, 'close');
  await sendFirstLine(socket, received);
  await clock.advance(1000);
  await closed;
  assert.match(received(), /^HTTP\/1\.1 400 .*connection: close.*The first line is bad\./is);
});
