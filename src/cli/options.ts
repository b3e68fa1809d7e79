import { InvalidArgumentError } from 'commander';

/** For commander: a whole number above 0. */
export function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return number;
}

/** For commander: 0 to 65535. */
export function portNumber(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 65_535) throw new InvalidArgumentError('It must be a number from 0 to 65535.');
  return number;
}
