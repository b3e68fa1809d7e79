import { crc32, inflateRawSync } from 'node:zlib';

/**
 * Gzip is a sequence of members (RFC 1952), and some servers send other bytes after the last one. Every browser ignores
 * those bytes; Node's gunzip takes them for a broken member. So members are read one by one, here for a body in memory
 * and in gunzip-stream.ts for one that arrives in pieces; reading ends where no other member begins.
 */
export function gunzipMembers(
  bytes: Uint8Array,
  { maxOutputLength, chunkSize }: { readonly maxOutputLength: number; readonly chunkSize: number },
): Uint8Array {
  const members: Uint8Array[] = [];
  let rest = bytes;
  let left = maxOutputLength;
  while (members.length === 0 || isMember(rest)) {
    if (hasTooManyMembers(members.length, bytes.length)) throw new TooManyMembers();
    const head = headLength(rest);
    if (head === null) throw new Error('it ends within a gzip header');
    const { buffer, engine } = inflateRawSync(rest.subarray(head), {
      info: true,
      chunkSize,
      maxOutputLength: Math.max(1, left),
    }) as unknown as { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };
    const tail = head + engine.bytesWritten;
    checkTail(rest.subarray(tail, tail + TAIL_LENGTH), crc32(buffer), buffer.length);
    members.push(buffer);
    left -= buffer.length;
    rest = rest.subarray(tail + TAIL_LENGTH);
  }
  return members.length === 1 && members[0] !== undefined ? members[0] : Buffer.concat(members);
}

export const TAIL_LENGTH = 8;
export const MAGIC_LENGTH = 3;

export function isMember(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 8;
}

/** RFC 1952, 2.3: ten bytes, then what the flags announce. Null if the header continues after these bytes. */
export function headLength(bytes: Uint8Array): number | null {
  if (bytes.length >= MAGIC_LENGTH && !isMember(bytes)) throw new Error('it is not gzip');
  if (bytes.length < 10) return null;
  const flags = bytes[3] ?? 0;
  let at = 10;
  if (flags & 4) {
    if (bytes.length < at + 2) return null;
    at += 2 + (bytes[at] ?? 0) + 256 * (bytes[at + 1] ?? 0);
  }
  for (const flag of [8, 16]) {
    if ((flags & flag) === 0) continue;
    const end = bytes.indexOf(0, at);
    if (end < 0) return null;
    at = end + 1;
  }
  if (flags & 2) at += 2;
  return at <= bytes.length ? at : null;
}

/** `tail` is the checksum and the size, modulo 2^32, of what the member inflates to. */
export function checkTail(tail: Uint8Array, checksum: number, size: number): void {
  if (tail.length < TAIL_LENGTH) throw new Error('it ends within a gzip member');
  const view = new DataView(tail.buffer, tail.byteOffset, TAIL_LENGTH);
  if (view.getUint32(0, true) !== checksum) throw new Error('the gzip checksum does not match');
  if (view.getUint32(4, true) !== size % 2 ** 32) throw new Error('the gzip size does not match');
}

/**
 * An empty member is twenty bytes, and each costs about as much time as a small page: without a limit, a few megabytes
 * would occupy a core for minutes. Files in blocks (bgzip) have one member per ten kilobytes or so.
 */
export function hasTooManyMembers(members: number, rawBytes: number): boolean {
  return members > FREE_MEMBERS + rawBytes / SMALLEST_AVERAGE;
}

const FREE_MEMBERS = 10_000;
const SMALLEST_AVERAGE = 512;

export class TooManyMembers extends Error {
  constructor() {
    super('the body consists of too many gzip members');
    this.name = 'TooManyMembers';
  }
}
