import type { Command } from 'commander';
import { hostPath } from '../../contract/client/api-paths.ts';
import type { HostAnswer, HostsAnswer, LiftedAnswer } from '../../contract/service-answers.ts';
import { type ClientOptions, showAnswer, talkToApi, withClientOptions, withOwnHint } from '../client/command.ts';
import { type Column, tableText } from '../client/table.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { hostText, limitsText } from './host-text.ts';
import { addSettingCommands } from './set-host.ts';

/** `trawl hosts …` */
export function addHostsCommands(program: Command): void {
  const hosts = program
    .command('hosts')
    .description('limits and pauses of hosts')
    .addHelpText(
      'after',
      `
When a host answers with Retry-After, no job contacts it before that time. An operator can pause a host, too, and limit
the requests of all jobs to it. These commands call the API of trawl serve: TRAWL_URL is its address (default:
http://127.0.0.1:8080), TRAWL_API_KEY the key.

Examples:
  $ trawl hosts list
  $ trawl hosts set treasurer.county.gov --requests-per-second 2 --note 'agreed on 3 May'
  $ trawl hosts resume treasurer.county.gov`,
    );
  withOwnHint(hosts);
  withClientOptions(hosts.command('list').description('list hosts that are paused or have settings'))
    .addHelpText('after', '\nExample:\n  $ trawl hosts list --json')
    .action(list);
  withClientOptions(
    hosts
      .command('show')
      .description('show the settings of a host, and whether it is paused, until when and why')
      .argument('<host>', HOST),
  )
    .addHelpText('after', '\nExample:\n  $ trawl hosts show county.gov:8080')
    .action(show);
  withClientOptions(hosts.command('resume').description('lift the pause of a host').argument('<host>', HOST))
    .addHelpText(
      'after',
      '\nIt takes effect within a few seconds. If the host asks for a pause again, it is paused again.\n\nExample:\n  $ trawl hosts resume county.gov',
    )
    .action(resume);
  addSettingCommands(hosts, HOST);
}

const HOST = 'host name, with the port unless it is the default one';

const COLUMNS: readonly Column[] = [
  // Never shortened: it is what the user types next.
  { name: 'HOST', max: 80 },
  { name: 'PAUSED UNTIL' },
  { name: 'REPORTED BY', isNumber: true },
  { name: 'LIMITS' },
  { name: 'REASON OR NOTE', isFlexible: true, max: 200 },
];

async function list(options: ClientOptions): Promise<void> {
  await talkToApi(options, async ({ api, out, note }) => {
    const answer = await api.get<HostsAnswer>('/hosts');
    if (options.json) await out.json(answer);
    else if (answer.hosts.length === 0) note('No hosts are paused or have settings.');
    else await out.write(tableText(COLUMNS, answer.hosts.map(rowOf)));
    return EXIT.done;
  });
}

function rowOf(answer: HostAnswer): readonly string[] {
  const { host, paused_until, reported_by, reason, settings } = answer;
  return [host, paused_until ?? '', String(reported_by), limitsText(answer), reason ?? settings?.note ?? ''];
}

async function show(host: string, options: ClientOptions): Promise<void> {
  await showAnswer(options, ({ api }) => api.get<HostAnswer>(hostPath(host)), hostText);
}

async function resume(host: string, options: ClientOptions): Promise<void> {
  const path = `${hostPath(host)}/pause`;
  await showAnswer(options, ({ api }) => api.json<LiftedAnswer>({ method: 'DELETE', path }), liftedText);
}

function liftedText({ host, lifted }: LiftedAnswer): string {
  if (!lifted) return `${printable(host)} was not paused.`;
  return `${printable(host)} is no longer paused; workers contact it again within a few seconds.`;
}
