import { createSocket } from 'node:dgram';

/** Names that begin with `dead`, and all other unknown names, never get an answer. */
export interface NameServer {
  /** As `TRAWL_DNS_SERVERS` wants it. */
  readonly address: string;
  /** Questions that got no answer. */
  readonly unanswered: () => number;
  close(): Promise<void>;
}

/** A server for names on this machine. It knows the IPv4 addresses of these names, and that they have no others. */
export async function openNameServer(addresses: ReadonlyMap<string, string>): Promise<NameServer> {
  const socket = createSocket('udp4');
  let unanswered = 0;
  socket.on('message', (question, { port, address }) => {
    const answer = answerTo(question, addresses);
    if (answer === null) unanswered += 1;
    else socket.send(answer, port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    unanswered: () => unanswered,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

const HEADER_BYTES = 12;
const TYPE_A = 1;

/** RFC 1035, 4.1: the header and the question as they came, marked as an answer, and one record if there is one. */
function answerTo(message: Buffer, addresses: ReadonlyMap<string, string>): Buffer | null {
  const { name, end } = readName(message);
  const address = addresses.get(name.toLowerCase());
  if (address === undefined) return null;
  const hasRecord = message.readUInt16BE(end) === TYPE_A;
  const head = Buffer.from(message.subarray(0, end + 4));
  // A response, recursion available, no error; one question, and nothing but answers.
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(hasRecord ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  if (!hasRecord) return head;
  const record = Buffer.alloc(16);
  // The name of the question, by its offset; an address of the internet, for a minute, of four bytes.
  record.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  record.writeUInt16BE(TYPE_A, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(60, 6);
  record.writeUInt16BE(4, 10);
  for (const [index, part] of address.split('.').entries()) record.writeUInt8(Number(part), 12 + index);
  return Buffer.concat([head, record]);
}

function readName(message: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 };
}
