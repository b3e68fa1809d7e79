import { z } from 'zod';
import { addedSchema, itemDetailSchema, itemPageSchema } from '../../../contract/item-answers.ts';
import { formatOfMediaType } from '../../../contract/item-formats.ts';
import { Problem } from '../../../contract/problem.ts';
import { addItemsQuery, downloadQuery, itemPath, itemsQuery, jobPath } from '../../../contract/requests.ts';
import { artifactLabel, type StoredArtifact } from '../../../domain/artifact.ts';
import { takeInItems } from '../../intake/intake.ts';
import { currentItems } from '../../results/current-items.ts';
import { download } from '../../results/download.ts';
import { downloadLink } from '../../results/download-link.ts';
import { type ApiDeps, jobOf, noJob } from '../api-deps.ts';
import { bodyBytes } from '../body-bytes.ts';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import { mediaTypeOf } from '../media-type.ts';
import { jsonAnswer, type Operation, operation } from '../operation.ts';
import { presentItem, presentItemDetail } from '../present-item.ts';

const KNOWN_BY = { ETag: 'SHA-256 of the complete artifact, in quotes.', 'Accept-Ranges': 'Always `bytes`.' };
const AS_A_FILE = { 'Content-Disposition': 'Attachment with a file name.' };

/** Lists of items, as operations take them. */
export const LIST_TYPES = {
  'application/x-ndjson': {
    schema: z.string().meta({ description: 'One object per line: an item with its id, or the input itself.' }),
    example: '{"item_id":"p-1","input":{"apn":"200-14-030"}}\n{"apn":"200-14-031"}\n',
  },
  'text/csv': {
    schema: z.string().meta({ description: 'A header row; columns become the input, and `item_id` the id.' }),
    example: 'item_id,apn\np-1,200-14-030\n',
  },
  'application/json': {
    schema: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'Objects: an item with its id, or the input itself.' }),
    example: [{ item_id: 'p-1', input: { apn: '200-14-030' } }, { apn: '200-14-031' }],
  },
};

export function itemOperations(deps: ApiDeps): Operation[] {
  const { ledger, store, links } = deps;
  return [
    operation({
      id: 'addItems',
      method: 'POST',
      path: '/jobs/{job_id}/items',
      tag: 'items',
      summary: 'Add any number of items to a job',
      description:
        'The body is streamed in constant memory. A line that cannot be used is reported by its number, and all others are ' +
        'kept. Items whose id the job already has are left unchanged, so an interrupted upload can simply be repeated; if ' +
        'such an item has a different input, the answer names it, and the job keeps the input it has. A completed job ' +
        'begins a new round with the first new item. Columns of a CSV that the scraper does not know are ignored, and the ' +
        'answer names them; a CSV without a header row, or without a column that the scraper knows, is refused. The body ' +
        'may be compressed (`Content-Encoding: gzip`).',
      access: 'full',
      params: jobPath,
      query: addItemsQuery,
      headers: { 'Content-Encoding': '`gzip` if the body is compressed.' },
      body: {
        kind: 'stream',
        contentTypes: LIST_TYPES,
      },
      answers: { 200: jsonAnswer('What became of the lines.', addedSchema) },
      problems: ['job_not_found', 'state_conflict', 'unsupported_media_type', 'too_large'],
      async handle({ params: { job_id: jobId }, query, stream, header, signal }) {
        const format = formatOfMediaType(mediaTypeOf(header('content-type')));
        if (format === null) {
          const types = 'application/x-ndjson, text/csv or application/json';
          throw new Problem('unsupported_media_type', `Send items as ${types} and set Content-Type accordingly.`);
        }
        const { columns = new Map(), strict: isStrict, limit = Number.POSITIVE_INFINITY } = query;
        if (format !== 'csv' && (columns.size > 0 || isStrict)) {
          const path = columns.size > 0 ? 'columns' : 'strict';
          throw new Problem('invalid_request', 'Invalid query: see errors.', [{ path, message: 'is only for CSV' }]);
        }
        const limits = { sentBytes: null, unpackedBytes: deps.maxBodyBytes };
        const reading = { format, columns, isStrict, limit };
        const answer = await takeInItems(deps, jobId, bodyBytes(stream, header, limits), reading, signal);
        switch (answer.kind) {
          case 'missing':
            return noJob(jobId);
          case 'refused':
            throw new Problem('state_conflict', `The job does not accept items: ${answer.because}.`);
          case 'closed':
            throw new Problem(
              'state_conflict',
              `The job is ${answer.status} and accepts no more items. ${answer.added} of this request were added before that.`,
            );
          case 'unreadable':
            throw new Problem('invalid_request', `The items cannot be read: ${answer.message}.`, [
              { path: '', code: 'items_added', message: `${answer.added} items were added before that` },
            ]);
          case 'taken': {
            const { received, added, duplicates, replaced, differing: conflicts, bad } = answer;
            const counts = { job_id: jobId, received, added, duplicates, replaced, conflicts, bad };
            deps.log.info(counts, 'items added');
            const lists = {
              replaced_ids: answer.replacedIds,
              conflicting_ids: answer.differingIds,
              bad_lines: answer.badLines,
              ignored_columns: answer.ignoredColumns,
              incomplete: answer.isIncomplete,
            };
            return { status: 200, json: { ...counts, ...lists } };
          }
        }
      },
    }),
    operation({
      id: 'listItems',
      method: 'GET',
      path: '/jobs/{job_id}/items',
      tag: 'items',
      summary: 'List items in the order in which they were added, filtered by status and error type',
      description: 'A page may be short or even empty and still not be the last: continue until `next_cursor` is null.',
      access: 'read',
      params: jobPath,
      query: itemsQuery,
      answers: { 200: jsonAnswer('A page of items.', itemPageSchema) },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId }, query: { limit, cursor, status, error_type: errorType } }) {
        const job = await jobOf(deps, jobId);
        const list = `items ${jobId} ${status ?? ''} ${errorType ?? ''}`;
        const filter = { status: status ?? null, errorType: errorType ?? null };
        const page = { after: decodeCursor(list, cursor), limit };
        const { entries, next } = await currentItems(ledger, job).items(jobId, filter, page);
        return { status: 200, json: { items: entries.map(presentItem), next_cursor: encodeCursor(list, next) } };
      },
    }),
    operation({
      id: 'getItem',
      method: 'GET',
      path: '/jobs/{job_id}/items/{item_id}',
      tag: 'items',
      summary: 'Get an item with its attempts',
      description:
        'If a re-extraction replaced its data, these are the new ones; its page and its history are its own.',
      access: 'read',
      params: itemPath,
      answers: { 200: jsonAnswer('The item.', itemDetailSchema) },
      problems: ['job_not_found', 'item_not_found'],
      async handle({ params }) {
        const { job, item } = await itemOf(deps, params);
        return { status: 200, json: presentItemDetail(item, job) };
      },
    }),
    operation({
      id: 'downloadArtifact',
      method: 'GET',
      path: '/jobs/{job_id}/items/{item_id}/download',
      tag: 'items',
      summary: 'Download an artifact of an item',
      description:
        'Supports range requests. Content from a site is always served as an attachment, so that a browser does not run it. ' +
        'With `redirect=true`, and if the store can serve the object directly, the answer redirects to it; the bytes are ' +
        'then as they are stored, possibly compressed. `artifact=html` of a failed item is also the page on which it failed.',
      access: 'read',
      params: itemPath,
      query: downloadQuery,
      headers: {
        Range: 'A single byte range.',
        'If-None-Match': 'ETag of the copy you have: it is not sent again.',
        'Accept-Encoding': 'Without `gzip`, there is no redirect to an object that is stored compressed.',
        'If-Range': 'ETag that the range refers to: if the artifact has changed, all of it is sent.',
      },
      answers: {
        200: {
          description: 'The artifact.',
          content: { '*/*': 'The bytes as the scraper stored them.' },
          headers: { ...KNOWN_BY, ...AS_A_FILE },
        },
        206: {
          description: 'The requested range.',
          content: { '*/*': 'The bytes of the range.' },
          headers: { ...KNOWN_BY, ...AS_A_FILE, 'Content-Range': 'The range and the total size.' },
        },
        304: { description: 'The artifact matches If-None-Match.', headers: KNOWN_BY },
        307: {
          description: 'A temporary link, valid for five minutes. Only with `redirect=true`.',
          headers: { Location: 'The link. It works without an API key.' },
        },
      },
      problems: ['job_not_found', 'item_not_found', 'artifact_not_found', 'range_not_satisfiable'],
      async handle({ params, query: { artifact: label, redirect }, header }) {
        const { item } = await itemOf(deps, params);
        const artifact = findArtifact(item.artifacts, label);
        if (artifact === undefined) {
          throw new Problem('artifact_not_found', `Item ${item.itemId} is ${item.status} and has no ${label}.`);
        }
        const asked = {
          range: header('range') ?? undefined,
          ifNoneMatch: header('if-none-match') ?? undefined,
          ifRange: header('if-range') ?? undefined,
          acceptEncoding: header('accept-encoding') ?? undefined,
        };
        const about = { itemId: item.itemId, artifact, headers: asked };
        const link = redirect && links !== null ? await downloadLink({ ...about, links }) : null;
        if (link !== null)
          return { status: 307, headers: { Location: link, 'Cache-Control': 'no-store' }, empty: true };
        const answer = await download({ ...about, store });
        if (answer === null)
          throw new Problem('artifact_not_found', `The stored bytes of ${artifact.key} are missing.`);
        const { status, headers, body } = answer;
        if (status === 416) {
          throw new Problem('range_not_satisfiable', `The artifact has ${artifact.size} bytes.`, [], headers);
        }
        return body === null ? { status, headers, empty: true } : { status, headers, stream: body };
      },
    }),
  ];
}

async function itemOf(deps: ApiDeps, { job_id: jobId, item_id: itemId }: { job_id: string; item_id: string }) {
  const job = await jobOf(deps, jobId);
  const item = await currentItems(deps.ledger, job).item(jobId, itemId);
  if (item === null) throw new Problem('item_not_found', `Job ${jobId} has no item ${itemId}.`);
  return { job, item };
}

/** A failed item may only have the page on which it failed, which is what a user wants to see. */
function findArtifact(artifacts: readonly StoredArtifact[], label: string): StoredArtifact | undefined {
  const found = artifacts.find((artifact) => artifactLabel(artifact) === label);
  return found ?? (label === 'html' ? artifacts.find(({ kind }) => kind === 'failed_page') : undefined);
}
