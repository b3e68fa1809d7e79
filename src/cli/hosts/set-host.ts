import { type Command, InvalidArgumentError } from 'commander';
import { ConfigError } from '../../config.ts';
import { hostPath } from '../../contract/client/api-paths.ts';
import type { ClearedAnswer, HostAnswer } from '../../contract/service-answers.ts';
import { type Client, type ClientOptions, showAnswer, withClientOptions } from '../client/command.ts';
import { printable } from '../format.ts';
import { hostText } from './host-text.ts';

interface SetOptions extends ClientOptions {
  readonly requestsPerSecond?: number | 'none';
  readonly maxConcurrent?: number | 'none';
  readonly minDelay?: number | 'none';
  readonly note?: string;
  readonly pausedUntil?: string;
  readonly pausedFor?: number;
}

/** `trawl hosts set` and `clear` */
export function addSettingCommands(hosts: Command, hostArgument: string): void {
  withClientOptions(
    hosts
      .command('set')
      .description('set the limits of a host for all jobs together, or pause it')
      .argument('<host>', hostArgument)
      .option('--requests-per-second <number>', 'maximum number of requests started per second', numberOrNone)
      .option('--max-concurrent <number>', 'maximum number of concurrent requests', numberOrNone)
      .option('--min-delay <seconds>', 'minimum time between the starts of two requests', numberOrNone)
      .option('--note <text>', 'why, for other users; shown as the reason while the host is paused')
      .option(
        '--paused-until <time>',
        'contact the host only after this time, such as 2026-05-03T18:00:00Z',
        timeOrNone,
      )
      .option('--paused-for <minutes>', 'the same, from now on', minutes),
  )
    .addHelpText(
      'after',
      `
Settings that are not named stay as they are; none clears one. They apply to all jobs together, in addition to what the
policy of each job allows, and take precedence over TRAWL_HOST_CONCURRENCY and TRAWL_HOST_DELAY_MS. Workers follow within
one second, on AWS within five.

Examples:
  $ trawl hosts set treasurer.county.gov --requests-per-second 2 --max-concurrent 4
  $ trawl hosts set treasurer.county.gov --paused-for 90 --note 'maintenance, says the county'
  $ trawl hosts set treasurer.county.gov --requests-per-second none`,
    )
    .action(setHost);
  withClientOptions(hosts.command('clear').description('clear the settings of a host').argument('<host>', hostArgument))
    .addHelpText(
      'after',
      '\nA pause that the host itself asked for stays: use trawl hosts resume.\n\nExample:\n  $ trawl hosts clear treasurer.county.gov',
    )
    .action(clearHost);
}

async function setHost(host: string, options: SetOptions): Promise<void> {
  if (options.pausedUntil !== undefined && options.pausedFor !== undefined) {
    throw new ConfigError('use either --paused-until or --paused-for');
  }
  await showAnswer(
    options,
    async (client) => {
      const change = changeOf(options, client.now());
      if (Object.keys(change).length === 0) {
        throw new ConfigError('nothing to set: name at least one setting, such as --requests-per-second 2');
      }
      return await changeHost(client, host, change);
    },
    hostText,
  );
}

/**
 * Based on the settings that were read: if another client has changed them since, the API refuses, and the user sees
 * that.
 */
async function changeHost({ api }: Client, host: string, change: object): Promise<HostAnswer> {
  const path = hostPath(host);
  const { settings } = await api.get<HostAnswer>(path);
  const { changed_at: _, version = 'none', ...known } = settings ?? {};
  return await api.json<HostAnswer>({ method: 'PUT', path, body: { ...known, ...change, version } });
}

function changeOf({ requestsPerSecond, maxConcurrent, minDelay, note, ...pause }: SetOptions, now: number) {
  const { pausedFor, pausedUntil } = pause;
  const until = pausedFor === undefined ? pausedUntil : new Date(now + pausedFor * 60_000).toISOString();
  const named = {
    ...{ requests_per_second: requestsPerSecond, max_concurrent_requests: maxConcurrent, min_delay_seconds: minDelay },
    ...{ note, paused_until: until },
  };
  const given = Object.entries(named).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, value === 'none' ? null : value]));
}

async function clearHost(host: string, options: ClientOptions): Promise<void> {
  const path = hostPath(host);
  await showAnswer(options, ({ api }) => api.json<ClearedAnswer>({ method: 'DELETE', path }), clearedText);
}

function clearedText({ host, cleared }: ClearedAnswer): string {
  return cleared ? `The settings of ${printable(host)} are cleared.` : `${printable(host)} had no settings.`;
}

function numberOrNone(text: string): number | 'none' {
  if (text === 'none') return text;
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError('It must be a number, or none.');
  return number;
}

function timeOrNone(text: string): string {
  if (text === 'none') return text;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new InvalidArgumentError('It must be a time such as 2026-05-03T18:00:00Z, or none.');
  return new Date(time).toISOString();
}

function minutes(text: string): number {
  const number = Number(text);
  if (!(number > 0) || number > 527_040) throw new InvalidArgumentError('It must be a number of minutes above 0.');
  return number;
}
