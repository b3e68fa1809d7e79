import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { parseIp } from '../../src/egress/ip-address.ts';

/** Addresses of a name, for 0-based question number `asked` about it and this type; or that there is no such name. */
export type Answers = (
  name: string,
  asked: number,
  type: 'A' | 'AAAA',
) => readonly string[] | 'silence' | 'no such name';

export interface DnsServer extends AsyncDisposable {
  /** Forgets what was asked before. */
  answerWith(answers: Answers): void;
  /** `ip:port`, as TRAWL_DNS_SERVERS has it. */
  readonly address: string;
}

const TYPES: Readonly<Record<number, 4 | 6>> = { 1: 4, 28: 6 };

/** A real name server, as small as one can be: one question per packet, answers that may be used once (TTL 0). */
export async function startDns(address: string, port = 0): Promise<DnsServer> {
  let answers: Answers = () => [];
  const asked = new Map<string, number>();
  const socket: Socket = createSocket('udp4', (query, from) => {
    const { name, type, question } = read(query);
    const family = TYPES[type];
    const count = asked.get(`${name} ${type}`) ?? 0;
    asked.set(`${name} ${type}`, count + 1);
    const answer = answers(name, count, family === 4 ? 'A' : 'AAAA');
    if (answer === 'silence') return;
    const isKnown = answer !== 'no such name';
    const records = (isKnown ? answer : [])
      .map((text) => parseIp(text))
      .filter((ip) => ip !== null)
      .filter((ip) => ip.family === family)
      .map((ip) => Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 0, 0, ip.bytes.length, ...ip.bytes]));
    // The number of the query; an answer that is final; one question, some records.
    const header = Buffer.from([
      ...query.subarray(0, 2),
      0x85,
      isKnown ? 0x80 : 0x83,
      0,
      1,
      0,
      records.length,
      0,
      0,
      0,
      0,
    ]);
    socket.send(Buffer.concat([header, question, ...records]), from.port, from.address);
  });
  await once(socket.bind(port, address), 'listening');
  return {
    answerWith(next) {
      answers = next;
      asked.clear();
    },
    address: `${address}:${socket.address().port}`,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => socket.close(resolve));
    },
  };
}

function read(query: Buffer): { readonly name: string; readonly type: number; readonly question: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: query.readUInt16BE(at + 1),
    question: query.subarray(12, at + 5),
  };
}
