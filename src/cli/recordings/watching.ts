import { ConfigError } from '../../config.ts';
import { RECORDING } from '../../domain/recording/recording.ts';
import type { Watching } from '../../main/watched-recording.ts';
import { askAboutStep } from './ask-about-step.ts';

export interface WatchOptions {
  readonly headed?: true;
  readonly engine?: string;
  readonly pauseOnFailure?: true;
}

/** What these options mean for a run; null for a run as any other. */
export function readWatching({ headed, engine, pauseOnFailure }: WatchOptions): Watching | null {
  const chosen = RECORDING.shape.engine.safeParse(engine);
  if (!chosen.success) throw new ConfigError('--engine must be auto, browser or http');
  if (pauseOnFailure && !(process.stdin.isTTY && process.stderr.isTTY)) {
    throw new ConfigError('--pause-on-failure asks in a terminal, and this is not one');
  }
  const needsBrowser = headed === true || pauseOnFailure === true;
  if (needsBrowser && engine !== undefined && engine !== 'browser') {
    throw new ConfigError(`--headed and --pause-on-failure need --engine browser, not ${engine}`);
  }
  if (!needsBrowser && engine === undefined) return null;
  return {
    engine: needsBrowser ? 'browser' : chosen.data,
    pause: pauseOnFailure ? askAboutStep(process.stdin, process.stderr) : null,
  };
}
