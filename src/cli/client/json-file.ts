import { readFileSync } from 'node:fs';
import { ConfigError } from '../../config.ts';
import { errorMessage } from '../../domain/error-message.ts';

/** The JSON in a file; throws a ConfigError that names the option or argument it was given as. */
export function readJsonFile(what: string, file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`${what}: ${file} cannot be read: ${errorMessage(error)}`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConfigError(`${what}: ${file} is not JSON: ${errorMessage(error)}`);
  }
}
