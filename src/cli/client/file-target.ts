import { createReadStream, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigError } from '../../config.ts';
import { errorMessage } from '../../domain/error-message.ts';
import type { Output } from './output.ts';
import { TerminalText } from './terminal-text.ts';

/** Where bytes go that were asked for. */
export interface Target {
  /** Bytes that an earlier try has left there. */
  readonly size: number;
  /** For whoever must know all bytes: those that are there already. */
  there(): AsyncIterable<Uint8Array>;
  write(bytes: Uint8Array): Promise<void>;
  /** Takes back what was written. False where that cannot be. */
  clear(): Promise<boolean>;
  /** It is complete. */
  finish(): Promise<void>;
  /** Without `finish` before it, it is not: whoever looks for the file finds what was there before. */
  close(): Promise<void>;
}

/** What is not finished lies beside the file, so that whoever finds the file finds all of it. */
export async function fileTarget(path: string, { keepsUnfinished }: { keepsUnfinished: boolean }): Promise<Target> {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw new ConfigError(`--out: ${path} is a folder`);
  const unfinished = `${path}.unfinished`;
  await mkdir(dirname(path), { recursive: true });
  const file = await openFile(unfinished, keepsUnfinished ? 'a' : 'w');
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
      await file.close();
      if (!isFinished && !keepsUnfinished) await rm(unfinished, { force: true });
    },
  };
}

async function openFile(path: string, flags: string): Promise<FileHandle> {
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    throw new ConfigError(`--out: ${errorMessage(error)}`);
  }
}

/** Stdout: whole into a pipe, and as text that steers nothing onto a terminal. */
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
