import type { Command } from 'commander';
import { type Config, ConfigError, loadConfig } from '../../config.ts';
import { type ApiAddress, ApiClient } from '../../contract/client/api-client.ts';
import { ApiError } from '../../contract/client/api-error.ts';
import { systemClock } from '../../main/client.ts';
import { untilToldToStop } from '../../main/stop-signal.ts';
import { EXIT } from '../exit-codes.ts';
import { CommandFailed, errorText } from './command-failure.ts';
import { type Output, OutputClosed } from './output.ts';
import { openTerminal, type Terminal } from './terminal.ts';

/** Options of every command that calls the API. */
export interface ClientOptions {
  readonly url?: string;
  readonly json?: true;
}

/** What a command works with. */
export interface Client extends Terminal {
  readonly api: ApiClient;
  /** The time of day, to compare with that of the server. */
  readonly now: () => number;
}

export function withClientOptions(command: Command, { hasJson = true } = {}): Command {
  withOwnHint(command).option(
    '--url <address>',
    'address of the API (default: TRAWL_URL or http://127.0.0.1:8080); the key is read from TRAWL_API_KEY',
  );
  return hasJson ? command.option('--json', 'print the answer of the API as JSON') : command;
}

/** After a mistyped option, refers to the help of this command instead of the general help. */
export function withOwnHint(command: Command): Command {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return command.showHelpAfterError(`(see ${names.join(' ')} --help)`);
}

/** Runs one command and sets the exit code to what `action` resolves to. */
export async function talkToApi(options: ClientOptions, action: (client: Client) => Promise<number>): Promise<void> {
  const config = loadConfig(options.url === undefined ? {} : { url: checkedUrl(options.url) });
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  const terminal = openTerminal(systemClock());
  const client = openClient(terminal, { url: config.url, apiKey: keyOf(config) }, stop.signal);
  await endCommand(terminal, options, () => action(client));
}

/** `signal` aborts every call. */
export function openClient(terminal: Terminal, address: ApiAddress, signal: AbortSignal): Client {
  const onRetry = (error: ApiError) => terminal.note(`${firstLine(errorText(error))}. Retrying for a while …`);
  const clock = systemClock();
  return { ...terminal, now: () => clock.now(), api: new ApiClient({ ...address, clock, signal, onRetry }) };
}

/** Sets the exit code to what `action` resolves to; if a call failed, to that of the failure, which is shown. */
export async function endCommand(
  { out, note }: Terminal,
  { json }: Pick<ClientOptions, 'json'>,
  action: () => Promise<number>,
): Promise<void> {
  try {
    process.exitCode = await action();
  } catch (error) {
    if (error instanceof OutputClosed) return;
    const failed = error instanceof ApiError ? CommandFailed.of(error) : error;
    if (!(failed instanceof CommandFailed)) throw error;
    note(`trawl: ${failed.message}`);
    process.exitCode = failed.exitCode;
    if (json) await printProblem(out, failed);
  }
}

/** Runs a command that shows one answer: as JSON for programs, or as the text that `describe` makes of it. */
export async function showAnswer<Answer>(
  options: ClientOptions,
  ask: (client: Client) => Promise<Answer>,
  describe: (answer: Answer) => string,
  exitCodeOf: (answer: Answer) => number = () => EXIT.done,
): Promise<void> {
  await talkToApi(options, async (client) => {
    const answer = await ask(client);
    if (options.json) await client.out.json(answer);
    else await client.out.write(`${describe(answer).trimEnd()}\n`);
    return exitCodeOf(answer);
  });
}

function firstLine(text: string): string {
  return text.split('\n')[0]?.replace(/\.$/, '') ?? '';
}

/** Programs read the problem from stdout, unless part of a list was already printed there. */
async function printProblem(out: Output, { problem }: CommandFailed): Promise<void> {
  if (problem === null || out.isUsed) return;
  try {
    await out.json(problem);
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error;
  }
}

/** The variable may be set for a server, which accepts several keys and hashes of keys. */
function keyOf({ apiKey }: Pick<Config, 'apiKey'>): string | null {
  const keys = (apiKey ?? '').split(',').map((key) => key.trim());
  return keys.find((key) => key !== '' && !key.startsWith('sha256:')) ?? null;
}

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return text;
  throw new ConfigError(`--url ${text}: must be a URL such as http://127.0.0.1:8080`);
}
