import { createHash } from 'node:crypto';
import { ConfigError, loadConfig } from '../../config.ts';
import type { ApiClient } from '../../contract/client/api-client.ts';
import { itemPath } from '../../contract/client/api-paths.ts';
import { type FileTarget, receiveFile } from '../../contract/client/receive-file.ts';
import type { ItemDetailAnswer } from '../../contract/item-answers.ts';
import { artifactLabel } from '../../domain/artifact.ts';
import { openScrapers } from '../../main/scrapers.ts';
import { type Client, type ClientOptions, talkToApi } from '../client/command.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCommand, printable } from '../format.ts';
import { differencesText, inputWords, LEAVE_OUT_EXPECT_FAILURE, recordedJson, recordedText } from './record.ts';
import { tellUnknown } from './unknown.ts';

interface Asked {
  readonly jobId: string;
  readonly itemId: string;
  readonly name: string | null;
  readonly expectFailure: boolean;
}

type Workshop = Awaited<ReturnType<typeof openScrapers>>;
type Kept = Parameters<Workshop['recordKept']>[1];
type Answer = NonNullable<Awaited<ReturnType<Workshop['recordKept']>>>;

/** `trawl scrapers test --from JOB ITEM`: makes a case from what a job kept of an item, and plays it. */
export async function recordFromJob(id: string, asked: Asked, options: ClientOptions): Promise<void> {
  const workshop = await openScrapers(loadConfig());
  await talkToApi(options, async (client) => {
    const item = await client.api.get<ItemDetailAnswer>(itemPath(asked.jobId, asked.itemId));
    if (item.scraper_id !== id) {
      throw new ConfigError(`--from: the items of ${asked.jobId} were scraped by ${item.scraper_id}, not by ${id}`);
    }
    const kept = await download(client.api, item);
    const answer = await workshop.recordKept(id, kept, asked);
    if (answer === null) {
      tellUnknown(id, workshop.ids());
      return EXIT.badUsage;
    }
    return await tell(client, { id, asked, item, answer, workshop }, options.json === true);
  });
}

/** Whatever shows how its pages were received: the visit, or else the kept pages and the list of requests. */
async function download(api: ApiClient, item: ItemDetailAnswer): Promise<Kept> {
  const read = (label: string) => receive(api, `${itemPath(item.job_id, item.item_id)}/download`, label);
  const has = (kind: string) => item.artifacts.some((artifact) => artifact.kind === kind);
  const visit = has('visit') ? await read('visit') : null;
  const pages: Kept['pages'][number][] = [];
  if (visit === null) {
    for (const artifact of item.artifacts.filter(({ kind }) => kind === 'html' || kind === 'page')) {
      const { kind, name, content_type: contentType } = artifact;
      const bytes = await read(artifactLabel(name === undefined ? { kind } : { kind, name }));
      pages.push({ name: name ?? null, contentType, bytes });
    }
  }
  const metadata = visit === null && has('metadata') ? await read('metadata') : null;
  const { job_id: jobId, item_id: itemId, input } = item;
  return { jobId, itemId, input, failedAs: item.error?.type ?? null, visit, metadata, pages };
}

async function receive(api: ApiClient, path: string, artifact: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const target: FileTarget = {
    size: 0,
    there: async function* () {},
    write: async (bytes) => void pieces.push(Uint8Array.from(bytes)),
    async clear() {
      pieces.length = 0;
      return true;
    },
  };
  const deps = { api, target, startHash: () => createHash('sha256'), onBytes: () => {} };
  await receiveFile(deps, { path, query: { artifact } });
  return Buffer.concat(pieces);
}

interface Recording {
  readonly id: string;
  readonly asked: Asked;
  readonly item: ItemDetailAnswer;
  readonly answer: Answer;
  readonly workshop: Workshop;
}

async function tell({ out, note }: Client, recording: Recording, isJson: boolean): Promise<number> {
  const { id, asked, item, answer, workshop } = recording;
  if (answer.kind === 'recorded') {
    if (isJson) await out.json(recordedJson(answer));
    else await out.write(`${recordedText(answer)}\n\n${nextText(recording, answer.playedAs, answer.written.name)}\n`);
    if (answer.differences.length === 0) return EXIT.done;
    note(differencesText(answer, workshop).trimEnd());
    return EXIT.someItemsFailed;
  }
  const because = answer.kind === 'refused' ? answer.because : missingText(answer.missing);
  if (isJson) await out.json({ recorded: false, because });
  const record = ['trawl', 'scrapers', 'test', id, '--record', ...inputWords(item.input)];
  const named = asked.name === null ? [] : ['--case', asked.name];
  const advice =
    answer.kind === 'refused'
      ? LEAVE_OUT_EXPECT_FAILURE
      : `To record the whole visit from the site:\n  $ ${printable(formatCommand([...record, ...named]), 2000)}`;
  note(`trawl: nothing was recorded: ${printable(because, 2000)}\n${advice}`);
  return EXIT.someItemsFailed;
}

function missingText(missing: readonly string[]): string {
  const more = missing.length > 1 ? ` and ${missing.length - 1} more` : '';
  return `the scraper asks for ${missing[0]}${more}, and the job kept no answer to that`;
}

/** What the result means, and what to do with it. */
function nextText({ id, asked, item: { error } }: Recording, playedAs: string, caseName: string): string {
  const test = `  $ trawl scrapers test ${id}`;
  if (playedAs === 'data') {
    const was = error === null ? '' : ` In the job it failed as ${error.type}.`;
    return `The scraper reads it.${was} Check the data before you keep the case. Then:\n${test}`;
  }
  const other = error === null || error.type === playedAs ? '' : ` (in the job it was ${error.type})`;
  const again = formatCommand(['trawl', 'scrapers', 'test', id, '--from', asked.jobId, asked.itemId]);
  const look = formatCommand(['trawl', 'try', id, '--case', caseName, '--watch']);
  return (
    `Played, the scraper fails as ${playedAs}${other}. If it must fail like this, keep the case. Otherwise repair the scraper:\n` +
    `  $ ${printable(look, 2000)}\n` +
    `and make the case again, which then expects the data:\n  $ ${printable(again, 2000)}`
  );
}
