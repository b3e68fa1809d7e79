import { generateKeyPairSync, sign } from 'node:crypto';
import { isIP } from 'node:net';

export interface SelfSigned {
  readonly key: string;
  readonly cert: string;
}

/** A self-signed certificate for these hosts: valid for clients configured to trust it, and for no others. */
export function selfSigned(hosts: readonly string[]): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const name = sequence(set(sequence(oid(COMMON_NAME), der(0x0c, Buffer.from('trawl test')))));
  const validity = sequence(der(0x17, Buffer.from('200101000000Z')), der(0x18, Buffer.from('20991231235959Z')));
  const subjectAltName = sequence(oid(SUBJECT_ALT_NAME), octets(sequence(...hosts.map(generalName))));
  const isAuthority = sequence(oid(BASIC_CONSTRAINTS), TRUE, octets(sequence(TRUE)));
  const unsigned = sequence(
    der(0xa0, integer(2)), // version 3
    integer(1), // serial number
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(subjectAltName, isAuthority)),
  );
  const signature = sign('sha256', unsigned, privateKey);
  const certificate = sequence(unsigned, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const base64 = certificate
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
  };
}

const ECDSA_WITH_SHA256 = [1, 2, 840, 10045, 4, 3, 2];
const COMMON_NAME = [2, 5, 4, 3];
const SUBJECT_ALT_NAME = [2, 5, 29, 17];
const BASIC_CONSTRAINTS = [2, 5, 29, 19];
const TRUE = der(0x01, Buffer.from([0xff]));

/** Tag, length, value: the whole of DER. */
function der(tag: number, value: Uint8Array): Buffer {
  const { length } = value;
  const sizes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...sizes]), value]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function set(...parts: readonly Uint8Array[]): Buffer {
  return der(0x31, Buffer.concat(parts));
}

function octets(value: Uint8Array): Buffer {
  return der(0x04, value);
}

function integer(value: number): Buffer {
  return der(0x02, Buffer.from([value]));
}

function oid([first = 0, second = 0, ...rest]: readonly number[]): Buffer {
  return der(0x06, Buffer.from([40 * first + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) digits.unshift(0x80 | (left & 0x7f));
  return digits;
}

function generalName(host: string): Buffer {
  if (isIP(host) === 0) return der(0x82, Buffer.from(host));
  return der(0x87, Buffer.from(isIP(host) === 4 ? host.split('.').map(Number) : [...new Array(15).fill(0), 1]));
}
