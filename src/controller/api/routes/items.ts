import { z } from 'zod';
import { addedSchema, itemDetailSchema, itemPageSchema } from '../../../contract/answers.ts';
import { Problem } from '../../../contract/problem.ts';
import { downloadQuery, itemPath, itemsQuery, jobPath, noQuery } from '../../../contract/requests.ts';
import { takeInItems } from '../../intake/intake.ts';
import { currentItems } from '../../results/current-items.ts';
import { download } from '../../results/download.ts';
import { downloadLink } from '../../results/download-link.ts';
import { bodyBytes } from '../body-bytes.ts';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import { formatOfContentType } from '../item-format.ts';
import { jsonAnswer, NO_BODY, type Operation, operation } from '../operation.ts';
import { type ApiParts, jobOf, noJob } from '../parts.ts';
import { presentItem, presentItemDetail } from '../present-item.ts';

const KNOWN_BY = { ETag: 'The SHA-256 of the whole of it, in quotes.', 'Accept-Ranges': 'bytes, always.' };
const AS_A_FILE = { 'Content-Disposition': 'A file to keep, and its name.' };

export function itemOperations(parts: ApiParts): Operation[] {
  const { ledger, store, links } = parts;
  return [
    operation({
      id: 'addItems',
      method: 'POST',
      path: '/jobs/{job_id}/items',
      tag: 'items',
      summary: 'Add items, any number of them',
      description:
        'The body is read as it comes, at constant memory. A line that cannot be used is reported by its number, and the ' +
        'others are kept. Items whose id the job has already are left alone, so that an upload that broke off is simply ' +
        'sent again; one that comes with another input than the job has is named in the answer, and the job keeps its own. ' +
        'A completed job begins a new round with the first item. The body may be packed (`Content-Encoding: gzip`).',
      access: 'full',
      params: jobPath,
      query: noQuery,
      headers: { 'Content-Encoding': 'gzip, if the body is packed with it.' },
      body: {
        kind: 'stream',
        contentTypes: {
          'application/x-ndjson': {
            schema: z.string().meta({ description: 'An object per line: an item with its id, or the input itself.' }),
            example: '{"item_id":"p-1","input":{"apn":"200-14-030"}}\n{"apn":"200-14-031"}\n',
          },
          'text/csv': {
            schema: z.string().meta({ description: 'A header row. Columns become the input; `item_id` is the id.' }),
            example: 'item_id,apn\np-1,200-14-030\n',
          },
          'application/json': {
            schema: z
              .array(z.record(z.string(), z.unknown()))
              .meta({ description: 'Objects: an item with its id, or the input itself.' }),
            example: [{ item_id: 'p-1', input: { apn: '200-14-030' } }, { apn: '200-14-031' }],
          },
        },
      },
      answers: { 200: jsonAnswer('What became of the lines.', addedSchema) },
      problems: ['job_not_found', 'state_conflict', 'unsupported_media_type', 'too_large'],
      async handle({ params: { job_id: jobId }, stream, header, signal }) {
        const format = formatOfContentType(header('content-type'));
        if (format === null) {
          const types = 'application/x-ndjson, text/csv or application/json';
          throw new Problem('unsupported_media_type', `Send items as ${types}, and say which in Content-Type.`);
        }
        const limits = { sentBytes: null, unpackedBytes: parts.maxBodyBytes };
        const answer = await takeInItems(parts, jobId, bodyBytes(stream, header, limits), format, signal);
        switch (answer.kind) {
          case 'missing':
            return noJob(jobId);
          case 'refused':
            throw new Problem('state_conflict', `The job takes no items: ${answer.because}.`);
          case 'closed':
            throw new Problem(
              'state_conflict',
              `The job is ${answer.status} and takes no more items. ${answer.added} of this request were added before.`,
            );
          case 'unreadable':
            throw new Problem('invalid_request', `The items cannot be read: ${answer.message}.`, [
              { path: '', message: `${answer.added} items were added before` },
            ]);
          case 'taken': {
            const { received, added, duplicates, differing: conflicts, bad } = answer;
            const counts = { job_id: jobId, received, added, duplicates, conflicts, bad };
            parts.log.info(counts, 'items were added');
            const lists = { conflicting_ids: answer.differingIds, bad_lines: answer.badLines };
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
      summary: 'List items, by status and error type, in the order in which they were added',
      description: 'A page may be short, or even empty, and still have a next one: go on until `next_cursor` is null.',
      access: 'read',
      params: jobPath,
      query: itemsQuery,
      body: NO_BODY,
      answers: { 200: jsonAnswer('A page of items.', itemPageSchema) },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId }, query: { limit, cursor, status, error_type: errorType } }) {
        const job = await jobOf(parts, jobId);
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
      summary: 'An item with every attempt',
      description:
        'Where a re-extraction replaced its data, they are the new ones; its page and its history are its own.',
      access: 'read',
      params: itemPath,
      query: noQuery,
      body: NO_BODY,
      answers: { 200: jsonAnswer('The item.', itemDetailSchema) },
      problems: ['job_not_found', 'item_not_found'],
      async handle({ params }) {
        const { job, item } = await itemOf(parts, params);
        return { status: 200, json: presentItemDetail(item, job) };
      },
    }),
    operation({
      id: 'downloadArtifact',
      method: 'GET',
      path: '/jobs/{job_id}/items/{item_id}/download',
      tag: 'items',
      summary: 'Download what was kept of an item',
      description:
        'With range requests. What comes from a site is handed out as a file, and never runs here. With `redirect=true`, ' +
        'and where results have addresses of their own, the answer is such an address, for whoever can use the bytes as ' +
        'they lie there.',
      access: 'read',
      params: itemPath,
      query: downloadQuery,
      headers: {
        Range: 'One range of bytes.',
        'If-None-Match': 'The ETag of what is there already: it is not sent again.',
        'Accept-Encoding': 'Without gzip, nobody is sent to bytes that are kept packed.',
        'If-Range': 'The ETag of what the range belongs to: if it is another by now, all of it is sent.',
      },
      body: NO_BODY,
      answers: {
        200: {
          description: 'The artifact.',
          content: { '*/*': 'The bytes as the scraper kept them.' },
          headers: { ...KNOWN_BY, ...AS_A_FILE },
        },
        206: {
          description: 'The range that was asked for.',
          content: { '*/*': 'Bytes of the range.' },
          headers: { ...KNOWN_BY, ...AS_A_FILE, 'Content-Range': 'Which bytes they are, and of how many.' },
        },
        304: { description: 'It is what If-None-Match says.', headers: KNOWN_BY },
        307: {
          description: 'The artifact is elsewhere, for five minutes. Only with `redirect=true`.',
          headers: { Location: 'Where it is. Whoever has this needs no key.' },
        },
      },
      problems: ['job_not_found', 'item_not_found', 'artifact_not_found', 'range_not_satisfiable'],
      async handle({ params, query: { artifact: kind, redirect }, header }) {
        const { item } = await itemOf(parts, params);
        const artifact = item.artifacts.find((each) => each.kind === kind);
        if (artifact === undefined) {
          throw new Problem('artifact_not_found', `The item ${item.itemId} is ${item.status} and has no ${kind}.`);
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
        if (answer === null) throw new Problem('artifact_not_found', `The bytes of ${artifact.key} are gone.`);
        const { status, headers, body } = answer;
        if (status === 416) {
          throw new Problem('range_not_satisfiable', `It has ${artifact.size} bytes.`, [], headers);
        }
        return body === null ? { status, headers, empty: true } : { status, headers, stream: body };
      },
    }),
  ];
}

async function itemOf(parts: ApiParts, { job_id: jobId, item_id: itemId }: { job_id: string; item_id: string }) {
  const job = await jobOf(parts, jobId);
  const item = await currentItems(parts.ledger, job).item(jobId, itemId);
  if (item === null) throw new Problem('item_not_found', `The job ${jobId} has no item ${itemId}.`);
  return { job, item };
}
