import { crc32, inflateRawSync } from 'node:zlib';

/**
 * Gzip with something else behind it, which some servers send and every browser overlooks; Node's gunzip takes it for a
 * broken member. This reads member after member, checks each, and leaves off where no other begins.
 */
export function gunzipMembers(bytes: Uint8Array, maxOutputLength: number): Uint8Array {
  const members: Uint8Array[] = [];
  let rest = bytes;
  let left = maxOutputLength;
  while (members.length === 0 || isMember(rest)) {
    const head = headLength(rest);
    const { buffer, engine } = inflateRawSync(rest.subarray(head), {
      info: true,
      maxOutputLength: Math.max(1, left),
    }) as unknown as { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };
    const tail = head + engine.bytesWritten;
    if (crc32(buffer) !== uint32(rest, tail)) throw new Error('the checksum does not fit');
    members.push(buffer);
    left -= buffer.length;
    rest = rest.subarray(tail + TAIL_LENGTH);
  }
  return members.length === 1 && members[0] !== undefined ? members[0] : Buffer.concat(members);
}

const TAIL_LENGTH = 8;

function isMember(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 8;
}

/** RFC 1952, 2.3: ten bytes, then what the flags announce. */
function headLength(bytes: Uint8Array): number {
  if (!isMember(bytes)) throw new Error('it is not gzip');
  const flags = bytes[3] ?? 0;
  let at = 10;
  if (flags & 4) at += 2 + (bytes[at] ?? 0) + 256 * (bytes[at + 1] ?? 0);
  for (const flag of [8, 16]) {
    if ((flags & flag) === 0) continue;
    const end = bytes.indexOf(0, at);
    if (end < 0) throw new Error('its head does not end');
    at = end + 1;
  }
  return flags & 2 ? at + 2 : at;
}

function uint32(bytes: Uint8Array, at: number): number | null {
  if (at + 4 > bytes.length) return null;
  return new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0, true);
}
