import { promisify } from 'node:util';
import { crc32, deflateRaw, deflateRawSync } from 'node:zlib';

/** A file of an archive. Its name has slashes between folders, and none at its beginning. */
export interface ZipFile {
  readonly name: string;
  readonly content: string;
}

const deflateInBackground = promisify(deflateRaw);

/** Below this, handing a text to another thread takes longer than packing it. */
const SMALL = 32_768;

async function deflate(plain: Buffer): Promise<Buffer> {
  return plain.length < SMALL ? deflateRawSync(plain) : await deflateInBackground(plain);
}

const LOCAL_HEADER = 0x04034b50;
const DIRECTORY_ENTRY = 0x02014b50;
const DIRECTORY_END = 0x06054b50;
const LARGE_DIRECTORY_END = 0x06064b50;
const LARGE_DIRECTORY_PLACE = 0x07064b50;
/** 4.5: what lies beyond 4 GiB has 64-bit places. */
const VERSION = 45;
/** Names are UTF-8. */
const FLAGS = 0x0800;
const STORED = 0;
const DEFLATED = 8;
/** Packing would make it longer. */
const TINY = 64;
const MOST_32 = 0xffffffff;
const MOST_16 = 0xffff;
/** 1980-01-01, the first that the format knows: the same pages make the same archive. */
const DATE = 0x21;

/**
 * A ZIP archive as its reader takes it. One file is in memory at a time; of the others only what the directory at the end
 * says about them. Each must be smaller than 4 GiB.
 */
export async function* zipBytes(files: AsyncIterable<ZipFile>): AsyncGenerator<Uint8Array> {
  const directory: Buffer[] = [];
  let place = 0;
  for await (const { name, content } of files) {
    const plain = Buffer.from(content);
    const isTiny = plain.length < TINY;
    const packed = isTiny ? plain : await deflate(plain);
    const about = Buffer.alloc(22);
    about.writeUInt16LE(VERSION, 0);
    about.writeUInt16LE(FLAGS, 2);
    about.writeUInt16LE(isTiny ? STORED : DEFLATED, 4);
    about.writeUInt16LE(DATE, 8);
    about.writeUInt32LE(crc32(plain), 10);
    about.writeUInt32LE(packed.length, 14);
    about.writeUInt32LE(plain.length, 18);
    const path = Buffer.from(name);
    yield Buffer.concat([number32(LOCAL_HEADER), about, number16(path.length), number16(0), path, packed]);
    directory.push(directoryEntry(about, path, place));
    place += 30 + path.length + packed.length;
  }
  for (const entry of directory) yield entry;
  yield directoryEnd(
    directory.length,
    directory.reduce((sum, { length }) => sum + length, 0),
    place,
  );
}

function directoryEntry(about: Buffer, path: Buffer, place: number): Buffer {
  const isFar = place >= MOST_32;
  const far = isFar ? Buffer.concat([number16(1), number16(8), number64(place)]) : Buffer.alloc(0);
  const [noComment, firstDisk, plainAttributes, fileAttributes] = [number16(0), number16(0), number16(0), number32(0)];
  return Buffer.concat([
    ...[number32(DIRECTORY_ENTRY), number16(VERSION), about, number16(path.length), number16(far.length)],
    ...[noComment, firstDisk, plainAttributes, fileAttributes, number32(isFar ? MOST_32 : place), path, far],
  ]);
}

function directoryEnd(entries: number, size: number, place: number): Buffer {
  const isLarge = entries >= MOST_16 || size >= MOST_32 || place >= MOST_32;
  const most16 = number16(Math.min(entries, MOST_16));
  const end = [
    ...[number32(DIRECTORY_END), number16(0), number16(0), most16, most16],
    ...[number32(Math.min(size, MOST_32)), number32(Math.min(place, MOST_32)), number16(0)],
  ];
  if (!isLarge) return Buffer.concat(end);
  return Buffer.concat([
    ...[number32(LARGE_DIRECTORY_END), number64(44), number16(VERSION), number16(VERSION), number32(0), number32(0)],
    ...[number64(entries), number64(entries), number64(size), number64(place)],
    ...[number32(LARGE_DIRECTORY_PLACE), number32(0), number64(place + size), number32(1)],
    ...end,
  ]);
}

function number16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function number64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
