import { styleText } from 'node:util';
import { loadConfig } from '../../config.ts';
import { openScrapers } from '../../main/scrapers.ts';
import { type Column, tableText } from '../client/table.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { isOnServer, listOnServer, type ServerOptions } from './on-server.ts';
import { shownPath } from './shown-path.ts';

const COLUMNS: readonly Column[] = [
  { name: 'ID', max: 80 },
  { name: 'NAME', isFlexible: true },
  { name: 'VERSION' },
  { name: 'KIND' },
  { name: 'HOSTS', isFlexible: true },
  { name: 'FILE' },
];

/** `trawl scrapers list` */
export async function listScrapers(options: ServerOptions & { check?: true }): Promise<void> {
  if (isOnServer(options)) return await listOnServer(options);
  const workshop = await openScrapers(loadConfig());
  const entries = await workshop.list(options.check ?? false);
  const known = entries.flatMap((entry) => (entry.kind === 'known' ? { ...entry.summary, file: entry.file } : []));
  const problems = entries.flatMap((entry) => {
    return entry.kind === 'broken' ? { id: entry.id, file: entry.file, problem: entry.problem } : [];
  });
  if (problems.length > 0) process.exitCode = EXIT.someItemsFailed;
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ scrapers: known, problems }, null, 2)}\n`);
    return;
  }
  const rows = known.map(({ id, name, version, kind, hosts, file }) => {
    return [id, name, version, kind, hosts?.join(' ') ?? '', shownPath(file)];
  });
  process.stdout.write(tableText(COLUMNS, rows));
  if (problems.length === 0) return;
  process.stdout.write(`\n${styleText('red', 'cannot be used:')}\n`);
  for (const { problem } of problems) process.stdout.write(`  ${printable(problem, 1000)}\n`);
}
