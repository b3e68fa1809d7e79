import { z } from 'zod';
import { bulkCreatedSchema, nothingToScrapeSchema } from '../../../contract/bulk-answers.ts';
import { bulkFieldsSchema, bulkQuery, bulkRequestSchema, urlFormatOf } from '../../../contract/bulk-request.ts';
import { newJobHeaders } from '../../../contract/new-job.ts';
import { Problem } from '../../../contract/problem.ts';
import { isBulk, presentBulkCreated } from '../../jobs/bulk/present-bulk.ts';
import { type ReadBulkAnswer, readBulkBody } from '../../jobs/bulk/read-bulk-body.ts';
import { submitBulk } from '../../jobs/bulk/submit-bulk.ts';
import { UrlSpool } from '../../jobs/bulk/url-spool.ts';
import { type ApiDeps, laneWarnings, refuseExisting } from '../api-deps.ts';
import { bodyBytes } from '../body-bytes.ts';
import { mediaTypeOf } from '../media-type.ts';
import { checked, jsonAnswer, type Operation, operation } from '../operation.ts';

const EXAMPLE = {
  urls: ['https://docs.example.com/guide/start', 'https://docs.example.com/guide/manual.pdf'],
  max_age: 86_400,
  delay_ms: 500,
};

const LISTS = {
  'text/plain': {
    schema: z.string().meta({ description: 'One URL per line; lines that begin with # are comments.' }),
    example: 'https://docs.example.com/guide/start\nhttps://docs.example.com/guide/install\n',
  },
  'text/csv': {
    schema: z.string().meta({ description: 'A header row with a column `url`.' }),
    example: 'url,title\nhttps://docs.example.com/guide/start,Start\n',
  },
  'application/x-ndjson': {
    schema: z.string().meta({ description: 'A URL in quotes, or an object with a `url`, per line.' }),
    example: '"https://docs.example.com/guide/start"\n{"url":"https://docs.example.com/guide/install"}\n',
  },
};

export function bulkOperation(deps: ApiDeps): Operation {
  return operation({
    id: 'createBulkJob',
    method: 'POST',
    path: '/jobs/bulk',
    tag: 'jobs',
    summary: 'Pull documentation pages as Markdown',
    description:
      'Creates a job that pulls pages of the configured sites (`GET /sites`). URLs of files (PDF, archives, images …) are ' +
      'kept as links and not fetched. The pages of each site are divided into batches, in proportion to their number; a batch ' +
      'is processed in sequence, with `delay_ms` between two requests. The body is a JSON object, or a plain list of URLs ' +
      'with the other fields in the query. It is streamed, so any number of URLs takes constant memory, and may be ' +
      'compressed (`Content-Encoding: gzip`). The job is an ordinary one: everything under `/jobs/{job_id}` applies.',
    access: 'full',
    query: bulkQuery,
    headers: {
      'Idempotency-Key': 'Requests with the same key and body create only one job. 1 to 255 characters.',
      'Content-Encoding': '`gzip` if the body is compressed.',
    },
    body: {
      kind: 'stream',
      contentTypes: { 'application/json': { schema: bulkRequestSchema, example: EXAMPLE }, ...LISTS },
    },
    answers: {
      201: jsonAnswer('The job was created.', bulkCreatedSchema, { Location: 'The path of the job.' }),
      200: jsonAnswer(
        'There is nothing to pull, or an earlier request with the same Idempotency-Key created the job.',
        z.union([nothingToScrapeSchema, bulkCreatedSchema]),
      ),
    },
    problems: [
      ...(['malformed_request', 'unsupported_media_type', 'too_large'] as const),
      ...(['job_exists', 'job_being_removed', 'idempotency_key_reused'] as const),
    ],
    async handle({ query, stream, header, signal }) {
      const key = header('idempotency-key');
      checked(newJobHeaders, key === null ? {} : { 'Idempotency-Key': key }, 'headers');
      const format = urlFormatOf(mediaTypeOf(header('content-type')));
      if (format === null) throw unsupported(header);
      const bytes = bodyBytes(stream, header, { sentBytes: null, unpackedBytes: deps.maxBodyBytes });
      const spool = new UrlSpool(deps);
      try {
        const given = fieldsGiven(await readBulkBody({ ...deps, spool }, bytes, format, signal), query);
        const fields = checked(bulkFieldsSchema, given, 'request');
        const answer = await submitBulk(deps, spool, { fields, given, idempotencyKey: key });
        switch (answer.kind) {
          case 'no-urls':
            throw new Problem('malformed_request', 'No URLs provided');
          case 'bad':
            throw new Problem('invalid_request', 'The job cannot be created: see errors.', answer.problems);
          case 'exists':
          case 'being-removed':
          case 'key-reused':
            return refuseExisting(answer.kind, answer.job);
          case 'created':
          case 'replayed': {
            const { job } = answer;
            if (!isBulk(job)) throw new Error(`job ${job.jobId} is not a bulk job`);
            const json = presentBulkCreated(job, laneWarnings(deps, job));
            const isNew = answer.kind === 'created' && json.status === 'in_progress';
            const location = `/jobs/${encodeURIComponent(job.jobId)}`;
            return { status: isNew ? 201 : 200, headers: { location }, json };
          }
        }
      } finally {
        await spool.drop();
      }
    },
  });
}

/** Fields are in the body or, for a plain list, in the query. */
function fieldsGiven(read: ReadBulkAnswer, query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (read.kind === 'malformed')
    throw new Problem('malformed_request', `The list of URLs cannot be read: ${read.message}.`);
  if (read.kind === 'bad') throw new Problem('invalid_request', 'Some URLs cannot be read: see errors.', read.problems);
  const asked = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
  if (read.fields === null) return asked;
  const [first] = Object.keys(asked);
  if (first === undefined) return read.fields;
  const message = 'belongs in the body if that is an object';
  throw new Problem('invalid_request', 'Invalid query: see errors.', [{ path: first, message }]);
}

function unsupported(header: (name: string) => string | null): Problem {
  const isEmpty = header('transfer-encoding') === null && Number(header('content-length') ?? 0) === 0;
  if (isEmpty && header('content-type') === null) return new Problem('malformed_request', 'No URLs provided');
  const types = 'application/json, text/plain, text/csv or application/x-ndjson';
  return new Problem('unsupported_media_type', `Send URLs as ${types} and set Content-Type accordingly.`);
}
