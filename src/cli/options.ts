import { InvalidArgumentError } from 'commander';
import { ConfigError, hasDisplay } from '../config.ts';

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

/** Pause between two steps of a browser that one can follow by eye. */
const SLOW_MS = 500;

const NO_DISPLAY = '--headed needs a display, and DISPLAY is not set: use a desktop, or run the command under xvfb-run';

/** What `--headed` and `--slow` mean for the settings. */
export function watchingSettings({ headed, slow }: { readonly headed?: true; readonly slow?: number | true }) {
  if (headed && !hasDisplay()) throw new ConfigError(NO_DISPLAY);
  return {
    ...(headed && { browserHeaded: true }),
    ...(slow !== undefined && { browserSlowMs: slow === true ? SLOW_MS : slow }),
  };
}
