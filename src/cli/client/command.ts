import type { Command } from 'commander';
import { type Config, ConfigError, loadConfig } from '../../config.ts';
import { systemClock } from '../../main/client.ts';
import { untilToldToStop } from '../../main/stop-signal.ts';
import type { Screen } from '../progress-display.ts';
import { ApiClient } from './api-client.ts';
import { ApiError } from './api-error.ts';
import { Output, OutputClosed } from './output.ts';

/** Options of every command that talks to the API. */
export interface ClientOptions {
  readonly url?: string;
  readonly json?: true;
}

/** What a command works with. */
export interface Client {
  readonly api: ApiClient;
  /** For the answer. */
  readonly out: Output;
  /** For whatever is not the answer. */
  readonly screen: Screen;
  note(text: string): void;
}

export function withClientOptions(command: Command, { hasJson = true } = {}): Command {
  withOwnHint(command).option(
    '--url <address>',
    'where the API is (TRAWL_URL, http://127.0.0.1:8080); TRAWL_API_KEY has the key',
  );
  return hasJson ? command.option('--json', 'print JSON, as the API answers it') : command;
}

/** Whoever mistypes an option is shown the way to the help of that command, and not to that of all. */
export function withOwnHint(command: Command): Command {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return command.showHelpAfterError(`(${names.join(' ')} --help tells more)`);
}

/** Runs one command: what it resolves to is the exit code; what goes wrong with the API is told in words. */
export async function talkToApi(options: ClientOptions, action: (client: Client) => Promise<number>): Promise<void> {
  const config = loadConfig(options.url === undefined ? {} : { url: checkedUrl(options.url) });
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  const screen = process.stderr;
  const note = (text: string) => void screen.write(`${text}\n`);
  const api = new ApiClient({
    url: config.url,
    apiKey: keyOf(config),
    clock: systemClock(),
    signal: stop.signal,
    onRetry: note,
  });
  const out = new Output();
  try {
    process.exitCode = await action({ api, out, screen, note });
  } catch (error) {
    if (error instanceof OutputClosed) return;
    if (!(error instanceof ApiError)) throw error;
    note(`trawl: ${error.message}`);
    process.exitCode = error.exitCode;
    if (options.json) await printProblem(out, error);
  }
}

/** Programs read stdout, also when the API says no; but not behind a list that breaks off. */
async function printProblem(out: Output, { problem }: ApiError): Promise<void> {
  if (problem === null || out.isUsed) return;
  try {
    await out.json(problem);
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error;
  }
}

/** The variable may be that of the server too, which takes several keys, and hashes of keys. */
function keyOf({ apiKey }: Pick<Config, 'apiKey'>): string | null {
  const keys = (apiKey ?? '').split(',').map((key) => key.trim());
  return keys.find((key) => key !== '' && !key.startsWith('sha256:')) ?? null;
}

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return text;
  throw new ConfigError(`--url ${text}: it must be an address like http://127.0.0.1:8080`);
}
