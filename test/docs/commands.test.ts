import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { addBrowserCommand } from '../../src/cli/browser.ts';
import { addBulkCommand } from '../../src/cli/bulk/bulk.ts';
import { addDemoCommand } from '../../src/cli/demo.ts';
import { addDoctorCommand } from '../../src/cli/doctor.ts';
import { addExtractCommand } from '../../src/cli/extract.ts';
import { addHostsCommands } from '../../src/cli/hosts/commands.ts';
import { addJobsCommands } from '../../src/cli/jobs/commands.ts';
import { addRecordingsCommands } from '../../src/cli/recordings/commands.ts';
import { addRunCommand } from '../../src/cli/run.ts';
import { addRunsCommands } from '../../src/cli/runs/commands.ts';
import { addScrapersCommands } from '../../src/cli/scrapers/commands.ts';
import { addServeCommands } from '../../src/cli/serve.ts';
import { addCacheCommands } from '../../src/cli/sites/cache-commands.ts';
import { addSitesCommands } from '../../src/cli/sites/commands.ts';
import { addErrorsCommands } from '../../src/cli/sites/errors-commands.ts';
import { addTryCommand } from '../../src/cli/try/command.ts';
import { addVerifyCommand } from '../../src/cli/verify.ts';
import { addWorkerCommand } from '../../src/cli/worker.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = ['.', 'docs', 'scrapers'].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md')
    .map((name) => join(folder, name)),
);

test('the command line accepts every trawl command in a block of the documentation', async () => {
  const refused: string[] = [];
  let found = 0;
  for (const page of PAGES) {
    for (const line of commandLines(textOf(page))) {
      found += 1;
      const problem = await refusalOf(wordsOf(line));
      if (problem !== null) refused.push(`${page}: ${line}: ${problem}`);
    }
  }
  assert.ok(found > 30, `only ${found} commands were found`);
  assert.deepEqual(refused, []);
});

test('every trawl command in a sentence of the documentation exists, and has the options that it is shown with', () => {
  const unknown: string[] = [];
  let found = 0;
  for (const page of PAGES) {
    // `trawl is serving` is a line of the log.
    for (const [, code = ''] of textOf(page)
      .replaceAll(/^```[\s\S]*?^```$/gm, '')
      .matchAll(/`(?:bin\/)?trawl (?!is )([^`]+)`/g)) {
      found += 1;
      const problem = unknownIn(wordsOf(code));
      if (problem !== null) unknown.push(`${page}: trawl ${code}: ${problem}`);
    }
  }
  assert.ok(found > 40, `only ${found} commands were found`);
  assert.deepEqual(unknown, []);
});

test('a command, an option or an argument that does not exist would be noticed', async () => {
  for (const line of ['runs x', 'run x --retry', 'jobs status', 'jobs retry x y', 'run x --limit none']) {
    assert.notEqual(await refusalOf(wordsOf(line)), null, line);
  }
  assert.equal(await refusalOf(wordsOf("run x --items 'my list.csv' --limit 3")), null);
  for (const line of ['jobs failure', 'run --retry']) assert.notEqual(unknownIn(wordsOf(line)), null, line);
});

function textOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

/** What follows `trawl` in the blocks of a page that hold commands, without comments, pipes and redirections. */
function commandLines(text: string): string[] {
  const blocks = [...text.matchAll(/^```(?:sh|sh terminal|console)?\n([\s\S]*?)^```$/gm)];
  return blocks
    .flatMap(([, block = '']) => block.split('\n'))
    .flatMap((line) => {
      const command = /^(?:\$ |.* && )?(?:[A-Z_]+=\S+ )*(?:bin\/)?trawl (.*)$/.exec(line)?.[1];
      return command === undefined ? [] : [command.replace(/\s+(?:#|\||>|&&|2>).*$/, '')];
    });
}

/** Split as a shell does it, as far as the documentation needs: quotes around a word or a part of one. */
function wordsOf(line: string): string[] {
  const words = line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return words.map((word) => word.replaceAll(/['"]/g, ''));
}

/** Null if the command line accepts it. Nothing is carried out. */
async function refusalOf(words: readonly string[]): Promise<string | null> {
  const program = buildProgram();
  for (const command of leavesOf(program)) command.action(() => {});
  try {
    await program.parseAsync(words, { from: 'user' });
    return null;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.code === 'commander.helpDisplayed' ? null : error.message;
  }
}

/** The first word that is not a command or an option of its command, or null. Arguments may be missing. */
function unknownIn(words: readonly string[]): string | null {
  let command: Command = buildProgram();
  const rest = [...words];
  while (command.commands.length > 0 && rest[0] !== undefined && /^[a-z]+$/.test(rest[0])) {
    const found = command.commands.find((each) => each.name() === rest[0]);
    if (found === undefined) return `there is no command ${rest[0]}`;
    command = found;
    rest.shift();
  }
  const option = rest.find((word) => word.startsWith('--') && !command.options.some(({ long }) => long === word));
  return option === undefined || option === '--help' ? null : `there is no option ${option}`;
}

function buildProgram(): Command {
  const program = new Command('trawl').version('0').exitOverride();
  program.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  for (const add of [addDemoCommand, addTryCommand, addRunCommand, addBulkCommand, addServeCommands, addWorkerCommand])
    add(program);
  for (const add of [
    addJobsCommands,
    addRunsCommands,
    addHostsCommands,
    addRecordingsCommands,
    addScrapersCommands,
    addSitesCommands,
    addCacheCommands,
    addErrorsCommands,
  ])
    add(program);
  for (const add of [addExtractCommand, addVerifyCommand, addBrowserCommand, addDoctorCommand]) add(program);
  return program;
}

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}
