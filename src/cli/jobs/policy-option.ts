import { readFileSync } from 'node:fs';
import { ConfigError } from '../../config.ts';
import { errorCode } from '../../domain/error-code.ts';
import { errorMessage } from '../../domain/error-message.ts';
import { isRecord } from '../../domain/is-record.ts';

export interface PolicyOptions {
  readonly policy?: string;
  readonly concurrency?: number;
}

/** The execution policy given by the options, unparsed: the API checks it. Null if no option sets it. */
export function policyGiven({ policy: file, concurrency }: PolicyOptions): Record<string, unknown> | null {
  if (file === undefined && concurrency === undefined) return null;
  const given = file === undefined ? {} : readObject('--policy', file);
  if (concurrency === undefined) return given;
  const throttling = (given['throttling'] ?? {}) as object;
  return { ...given, throttling: { ...throttling, max_concurrent_workers: concurrency } };
}

function readObject(option: string, file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const code = errorCode(error);
    const message = errorMessage(error);
    if (error instanceof SyntaxError) throw new ConfigError(`${option} ${file}: not valid JSON (${message})`);
    if (code === 'ENOENT') throw new ConfigError(`${option} ${file}: no such file`);
    throw new ConfigError(`${option} ${file}: ${code === 'EISDIR' ? 'is a folder' : message}`);
  }
  if (isRecord(value)) return value;
  throw new ConfigError(`${option} ${file}: must contain a JSON object`);
}
