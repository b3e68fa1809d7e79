import { styleText } from 'node:util';
import { loadConfig } from '../../config.ts';
import { errorMessage } from '../../domain/error-message.ts';
import { openScrapers } from '../../main/scrapers.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { isOnServer, type ServerOptions, showOnServer } from './on-server.ts';
import { shownPath } from './shown-path.ts';
import { tellUnknown } from './unknown.ts';

/** `trawl scrapers show` */
export async function showScraper(id: string, options: ServerOptions): Promise<void> {
  if (isOnServer(options)) return await showOnServer(id, options);
  const workshop = await openScrapers(loadConfig());
  const found = await workshop.describe(id).catch((error: unknown) => {
    process.stderr.write(`trawl: ${errorMessage(error)}\n`);
    process.exitCode = EXIT.someItemsFailed;
    return 'broken' as const;
  });
  if (found === 'broken') return;
  if (found === null) {
    tellUnknown(id, workshop.ids());
    return;
  }
  if (options.json) {
    process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
    return;
  }
  const { name, version, description, kind, lane, hosts, file, fixture, input, output } = found;
  const lines = [
    `${styleText('bold', printable(name))}  ${printable(version)}`,
    printable(description, 1000),
    '',
    `id       ${id}`,
    `kind     ${kind} (lane ${lane})`,
    `hosts    ${printable(hosts?.join(' ') || 'any: the input names them', 1000)}`,
    `file     ${shownPath(file)}`,
    `fixture  ${fixture === null ? 'none' : shownPath(fixture)}`,
    '',
    styleText('bold', 'input'),
    JSON.stringify(input, null, 2),
    '',
    styleText('bold', 'data'),
    output === null ? 'none' : JSON.stringify(output, null, 2),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
