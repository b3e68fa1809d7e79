import { InvalidArgumentError } from 'commander';
import { ConfigError } from '../../config.ts';

/** For commander: an option that may be repeated. */
export function collected(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** `county=maricopa` */
export function keyValues(option: string, pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at < 1) throw new ConfigError(`${option} ${pair}: must be key=value`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  // Not by assignment, because a key may be __proto__.
  return Object.fromEntries(entries);
}

/** For commander: parts are numbered from 0. */
export function partNumber(text: string): number {
  if (!/^\d{1,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, 0 or more.');
  return Number(text);
}
