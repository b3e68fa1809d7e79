import type { Command } from 'commander';
import { Option } from 'commander';
import { Refused } from '../../contract/client/api-error.ts';
import { sitePath } from '../../contract/client/api-paths.ts';
import type { DiscoveryAnswer, SiteAnswer } from '../../contract/site-answers.ts';
import { SITE_MODES } from '../../domain/site.ts';
import { NO_SITE } from '../../domain/stored-site.ts';
import { type Client, type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { CommandFailed } from '../client/command-failure.ts';
import { EXIT } from '../exit-codes.ts';
import { findingsText, jsonText, misfits } from './site-text.ts';

interface AddOptions extends ClientOptions {
  readonly id?: string;
  readonly mode?: string;
  readonly selector?: string;
  readonly replace?: true;
  readonly dryRun?: true;
}

/** `trawl sites add` and `test` */
export function addLookingCommands(sites: Command): void {
  withClientOptions(
    sites
      .command('add')
      .description('look at a site, and add it with a configuration that fits')
      .argument('<url>', 'a page of the site, such as its home page')
      .option('--id <id>', 'id of the site (default: from its address)')
      .addOption(new Option('--mode <mode>', 'how to read pages, instead of what was found').choices(SITE_MODES))
      .option('--selector <css>', 'where the content is, instead of where it was found')
      .option('--replace', 'replace the configuration of a site that is there already')
      .option('--dry-run', 'print the configuration, and add nothing'),
  )
    .addHelpText(
      'after',
      `
The server asks for the page, its Markdown, robots.txt, sitemaps and llms.txt: a dozen requests at most.

Examples:
  $ trawl sites add https://docs.example.com/guide/
  $ trawl sites add https://docs.example.com/guide/ --id example --selector 'main article'
  $ trawl sites add https://docs.example.com/guide/ --dry-run --json`,
    )
    .action(add);
  withClientOptions(
    sites
      .command('test')
      .description('look at a page of a site, and check that the configuration fits')
      .argument('<site>', 'id of the site')
      .argument('[path]', 'path of the page below the baseUrl of the site (default: its defaultPath)'),
  )
    .addHelpText(
      'after',
      `
Exit codes: 0 it fits, 1 it does not, 2 bad usage, 3 the page could not be read.

Example:
  $ trawl sites test example /install`,
    )
    .action(testSite);
}

async function add(url: string, options: AddOptions): Promise<void> {
  await talkToApi(options, async ({ api, out }) => {
    const found = await look(api, { url });
    const { site_id: proposed, config } = found;
    const id = options.id ?? proposed;
    const body = {
      ...config,
      ...(options.mode === undefined ? {} : { mode: options.mode }),
      content: { ...config.content, ...(options.selector === undefined ? {} : { selector: options.selector }) },
    };
    if (options.dryRun) {
      if (options.json) await out.json({ sites: { [id]: body } });
      else await out.write(`${findingsText(found)}\n\n${jsonText({ sites: { [id]: body } })}\n`);
      return EXIT.done;
    }
    const query = options.replace ? {} : { version: NO_SITE };
    const added = await api
      .json<SiteAnswer>({ method: 'PUT', path: sitePath(id), query, body })
      .catch((error: unknown) => {
        if (!(error instanceof Refused) || error.code !== 'site_changed') throw error;
        const message = `There is already a site ${id}: use --replace, or another id with --id.`;
        throw new CommandFailed(message, EXIT.badUsage, error.problem);
      });
    if (options.json) await out.json(added);
    else await out.write(`${findingsText(found)}\nAdded the site ${id}; see trawl sites show ${id}.\n`);
    return EXIT.done;
  });
}

async function testSite(id: string, given: string | undefined, options: ClientOptions): Promise<void> {
  await talkToApi(options, async ({ api, out }) => {
    const site = await api.get<SiteAnswer>(sitePath(id));
    const { baseUrl, defaultPath, content } = site.config;
    const path = given ?? defaultPath;
    const url = /^https?:\/\//i.test(path) ? path : `${baseUrl}${/^(?:[/?]|$)/.test(path) ? '' : '/'}${path}`;
    const query = { url, ...(content.selector === undefined ? {} : { selector: content.selector }) };
    const found = await look(api, query);
    const problems = misfits(site, found);
    if (options.json) await out.json({ ...found, problems });
    else {
      const verdict =
        problems.length === 0 ? ['The configuration fits.'] : problems.map((problem) => `Problem: ${problem}.`);
      await out.write(`${[findingsText(found), ...verdict].join('\n')}\n`);
    }
    return problems.length === 0 ? EXIT.done : EXIT.someItemsFailed;
  });
}

/** A page that cannot be read is not a mistake in the command. */
async function look(api: Client['api'], query: { readonly url: string; readonly selector?: string }) {
  return await api.get<DiscoveryAnswer>('/discover', query).catch((error: unknown) => {
    if (!(error instanceof Refused) || error.code !== 'page_not_read') throw error;
    throw new CommandFailed(error.message, EXIT.failed, error.problem);
  });
}
