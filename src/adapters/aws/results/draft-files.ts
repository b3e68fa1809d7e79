import { createHash } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../../domain/error-code.ts';
import { errorMessage } from '../../../domain/error-message.ts';
import type { DraftPlace, TakenDraft } from '../../../domain/spilling-draft.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';

/** Most documents are smaller, and never touch the disk. */
const IN_MEMORY_BYTES = 1024 * 1024;

const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Bytes that are whole and known, in memory or not. */
export interface Content {
  readonly size: number;
  readonly isInMemory: boolean;
  read(start: number, end: number): Promise<Uint8Array>;
}

export function contentOf(bytes: Uint8Array): Content {
  return { size: bytes.byteLength, isInMemory: true, read: async (start, end) => bytes.subarray(start, end) };
}

export function contentOfDraft({ content, size }: TakenDraft<FileHandle>): Content {
  return 'bytes' in content ? contentOf(content.bytes) : contentOfFile(content.spilled, size);
}

/**
 * Large drafts as temporary files. Each loses its name as soon as it is opened, so that a process that dies leaves
 * nothing; it is read through its handle and is gone when that is closed.
 */
export function draftFiles(tempDir: string, newName: () => string): DraftPlace<FileHandle> {
  return {
    inMemoryBytes: IN_MEMORY_BYTES,
    newHash: () => createHash('sha256'),
    open: () => nameless(() => join(tempDir, `trawl-draft-${newName()}`)),
    append: (file, bytes) => file.appendFile(bytes),
    async seal() {},
    remove: (file) => file.close(),
    explain: noRoom,
  };
}

async function nameless(newPath: () => string): Promise<FileHandle> {
  for (;;) {
    const path = newPath();
    const file = await open(path, 'wx+', 0o600).catch((error: unknown) => {
      // Try another name: this one belongs to a process that has not yet removed it, or died before.
      if (errorCode(error) === 'EEXIST') return null;
      throw error;
    });
    if (file === null) continue;
    try {
      await unlink(path);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }
}

function contentOfFile(file: FileHandle, size: number): Content {
  return {
    size,
    isInMemory: false,
    async read(start, end) {
      const bytes = Buffer.allocUnsafe(end - start);
      for (let at = 0; at < bytes.byteLength; ) {
        const { bytesRead } = await file.read(bytes, at, bytes.byteLength - at, start + at);
        if (bytesRead === 0) throw new StorageTrouble('io', 'a draft lost bytes on the disk for temporary files');
        at += bytesRead;
      }
      return bytes;
    },
  };
}

/** Every error here is about the temporary disk: the path is ours, and new. */
function noRoom(error: unknown): StorageTrouble {
  const message = errorMessage(error);
  return new StorageTrouble(
    NO_ROOM.has(errorCode(error) ?? '') ? 'full' : 'io',
    `cannot write a draft: ${message}`,
    error,
  );
}
