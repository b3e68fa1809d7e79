import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { ByteRange } from '../../../domain/result-address.ts';

/** Symbolic links are not followed where bytes are read: they could lead out of the root. */
export const TO_READ = constants.O_RDONLY | constants.O_NOFOLLOW;

/** Held by each reader. Larger ones are hardly faster: 64 KiB take some ten microseconds, with the way to the thread. */
const PIECE_BYTES = 64 * 1024;

/** A file as it was when it was opened. A file of results is never written to again, only replaced by another. */
export interface SeenFile {
  readonly path: string;
  readonly size: number;
  readonly mark: string;
}

/** Null if it is not a file. */
export async function seeFile(path: string): Promise<SeenFile | null> {
  await using handle = await open(path, TO_READ);
  return seen(path, handle);
}

/**
 * Reads a range of a file, which must be within it. The file is opened by the first read and closed by the last, however
 * that ends, so that an unread body holds nothing open. Throws if it is another file by then.
 */
export async function* streamFile(file: SeenFile, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
  await using handle = await open(file.path, TO_READ);
  if ((await seen(file.path, handle))?.mark !== file.mark) throw new Error('other bytes have taken their place');
  for (let at = start; at < end; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - at));
    const { bytesRead } = await handle.read(piece, 0, piece.byteLength, at);
    if (bytesRead === 0) throw new Error(`they end after ${at} bytes of ${file.size}`);
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

/** The pieces of a body that is held already. */
export async function* streamBytes(bytes: Uint8Array, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; at += PIECE_BYTES) yield bytes.subarray(at, Math.min(at + PIECE_BYTES, end));
}

async function seen(path: string, handle: FileHandle): Promise<SeenFile | null> {
  const found = await handle.stat({ bigint: true });
  if (!found.isFile()) return null;
  // The number of a file that is gone may be given to another one.
  const mark = [found.dev, found.ino, found.size, found.mtimeNs].join();
  return { path, size: Number(found.size), mark };
}
