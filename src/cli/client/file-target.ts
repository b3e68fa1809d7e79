import { createReadStream, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigError } from '../../config.ts';
import type { FileTarget } from '../../contract/client/receive-file.ts';
import { errorMessage } from '../../domain/error-message.ts';
import type { Output } from './output.ts';
import { TerminalText } from './terminal-text.ts';

/** A file or stdout that a command writes to. */
export interface Target extends FileTarget {
  /** Marks it complete. */
  finish(): Promise<void>;
  /** Without a preceding `finish`, an existing file is left unchanged. */
  close(): Promise<void>;
}

/** Writes beside the file and renames at the end, so that the file is always complete. */
export async function fileTarget(
  path: string,
  { keepsUnfinished, option = '--out' }: { readonly keepsUnfinished: boolean; readonly option?: string },
): Promise<Target> {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw new ConfigError(`${option} ${path}: is a folder`);
  const unfinished = `${path}.unfinished`;
  await mkdir(dirname(path), { recursive: true });
  const file = await openFile(unfinished, keepsUnfinished ? 'a' : 'w', option);
  const { size } = await file.stat();
  let isFinished = false;
  return {
    size,
    there: () => createReadStream(unfinished, { end: Math.max(0, size - 1) }),
    write: async (bytes) => {
      await file.appendFile(bytes);
    },
    async clear() {
      await file.truncate(0);
      return true;
    },
    async finish() {
      await file.sync();
      await rename(unfinished, path);
      isFinished = true;
    },
    async close() {
      const { size: left } = await file.stat();
      await file.close();
      if (!isFinished && (!keepsUnfinished || left === 0)) await rm(unfinished, { force: true });
    },
  };
}

async function openFile(path: string, flags: string, option: string): Promise<FileHandle> {
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    throw new ConfigError(`${option}: ${errorMessage(error)}`);
  }
}

/** Stdout: unchanged into a pipe, without control characters onto a terminal. */
export function stdoutTarget(out: Output, isTerminal: boolean): Target {
  const text = new TerminalText();
  let written = 0;
  return {
    size: 0,
    async *there() {},
    async write(bytes) {
      written += bytes.length;
      await out.write(isTerminal ? text.push(bytes) : bytes);
    },
    clear: async () => written === 0,
    async finish() {
      if (isTerminal) await out.write(text.end());
    },
    async close() {},
  };
}
