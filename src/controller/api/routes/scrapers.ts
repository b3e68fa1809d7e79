import { Problem, sentence } from '../../../contract/problem.ts';
import { jobPath, scraperPath, scraperQuery } from '../../../contract/requests.ts';
import {
  newScraperBody,
  recordingDocument,
  removedScraperSchema,
  type ScraperAnswer,
  scraperSchema,
  scrapersSchema,
} from '../../../contract/scraper-answers.ts';
import { errorMessage } from '../../../domain/error-message.ts';
import { type CatalogScraper, describeUnknownScraper } from '../../intake/scraper-catalog.ts';
import { removeScraper } from '../../jobs/recordings/remove-scraper.ts';
import { storeRecording } from '../../jobs/recordings/store-recording.ts';
import { type ApiDeps, jobOf } from '../api-deps.ts';
import { jsonAnswer, jsonBody, type Operation, operation } from '../operation.ts';

const EXAMPLE = {
  id: 'my-county',
  version: '1.0.0',
  hosts: ['treasurer.example.gov'],
  engine: 'http',
  steps: [
    { type: 'goto', url: 'https://treasurer.example.gov/parcel/{{input.apn}}' },
    { type: 'extractText', selectors: ['#owner'], field: 'owner' },
  ],
};

/** Scrapers: those of files, and recordings that were stored here. */
export function scraperOperations(deps: ApiDeps): Operation[] {
  const { catalog } = deps;
  return [
    operation({
      id: 'listScrapers',
      method: 'GET',
      path: '/scrapers',
      tag: 'scrapers',
      summary: 'List scrapers',
      description: 'Scrapers that cannot be used are listed separately, with the reason.',
      access: 'read',
      answers: { 200: jsonAnswer('Usable and broken scrapers.', scrapersSchema) },
      async handle() {
        const entries = await catalog.list();
        return {
          status: 200,
          json: {
            scrapers: entries.flatMap((entry) => (entry.kind === 'known' ? [entry.summary] : [])),
            broken: entries.flatMap((entry) =>
              entry.kind === 'broken' ? [{ id: entry.id, problem: entry.problem }] : [],
            ),
          },
        };
      },
    }),
    operation({
      id: 'getScraper',
      method: 'GET',
      path: '/scrapers/{scraper_id}',
      tag: 'scrapers',
      summary: 'Get a scraper with the JSON Schemas of its input and its data',
      access: 'read',
      params: scraperPath,
      query: scraperQuery,
      answers: { 200: jsonAnswer('The scraper.', scraperSchema) },
      problems: ['scraper_not_found', 'scraper_unusable'],
      async handle({ params: { scraper_id: id }, query: { version } }) {
        const scraper = await catalog.find(id, version).catch((error: unknown) => {
          throw new Problem('scraper_unusable', errorMessage(error));
        });
        if (scraper === null) return await noScraper(deps, id, version);
        return { status: 200, json: await presentScraper(deps, scraper) };
      },
    }),
    operation({
      id: 'addScraper',
      method: 'POST',
      path: '/scrapers',
      tag: 'scrapers',
      summary: 'Store a recording as a scraper',
      description:
        'The recording is checked as `trawl recordings check` does: every error names its step, its field and its reason. A ' +
        'version never changes. New jobs use the version that was stored last; a job keeps the one that it was created ' +
        'with, retries included. At most 256 KiB.',
      access: 'full',
      body: jsonBody(newScraperBody, EXAMPLE),
      answers: {
        201: jsonAnswer('The version was stored.', scraperSchema, { Location: 'The path of the scraper.' }),
        200: jsonAnswer('The same version was stored before, with the same content.', scraperSchema),
      },
      problems: ['scraper_in_file', 'scraper_version_taken', 'scraper_unusable'],
      async handle({ sent }) {
        const answer = await storeRecording(deps, sent);
        if (answer.kind === 'bad') {
          throw new Problem('invalid_request', 'The recording cannot be used: see errors.', answer.problems);
        }
        if (answer.kind === 'in-file') return inFile(answer.id, answer.file);
        const { id, version } = answer.scraper;
        if (answer.kind === 'other-content') {
          throw new Problem(
            'scraper_version_taken',
            `Version ${version} of ${id} was stored with other content, and a version never changes. Give this one another version.`,
          );
        }
        const scraper = await catalog.find(id, version);
        // It was deleted in the meantime.
        if (scraper === null) return await noScraper(deps, id, version);
        const json = await presentScraper(deps, scraper);
        if (answer.kind === 'same') return { status: 200, json };
        return { status: 201, headers: { location: `/scrapers/${encodeURIComponent(id)}` }, json };
      },
    }),
    operation({
      id: 'removeScraper',
      method: 'DELETE',
      path: '/scrapers/{scraper_id}',
      tag: 'scrapers',
      summary: 'Delete a stored recording, with all its versions',
      description:
        'It is refused while a job that uses it is pending, in progress or paused. Finished jobs keep their own copy: they ' +
        'can be retried as before.',
      access: 'full',
      params: scraperPath,
      answers: { 200: jsonAnswer('The scraper is gone.', removedScraperSchema) },
      problems: ['scraper_not_found', 'scraper_in_file', 'scraper_in_use'],
      async handle({ params: { scraper_id: id } }) {
        const answer = await removeScraper(deps, id);
        if (answer.kind === 'removed') return { status: 200, json: { id, versions: answer.versions } };
        if (answer.kind === 'in-use') {
          throw new Problem(
            'scraper_in_use',
            `Job ${answer.jobId} uses ${id} and is ${answer.status}. Cancel it, or wait until it is finished.`,
          );
        }
        const file = catalog.fileOf(id);
        return file === null ? await noScraper(deps, id) : inFile(id, file);
      },
    }),
    operation({
      id: 'getJobRecording',
      method: 'GET',
      path: '/jobs/{job_id}/recording',
      tag: 'jobs',
      summary: 'Get the recording of a job',
      description: 'The steps that the job carries out, if it was created with a recording or with a stored one.',
      access: 'read',
      params: jobPath,
      answers: { 200: jsonAnswer('The recording.', recordingDocument) },
      problems: ['job_not_found', 'recording_not_found'],
      async handle({ params: { job_id: jobId } }) {
        const { recording } = await jobOf(deps, jobId);
        const kept = recording === undefined ? null : await deps.recordings.get(recording.key);
        if (kept !== null) return { status: 200, json: kept.document };
        throw new Problem('recording_not_found', `Job ${jobId} has no recording of its own.`);
      },
    }),
  ];
}

async function presentScraper({ catalog }: ApiDeps, scraper: CatalogScraper): Promise<ScraperAnswer> {
  const { id, name, version, description, kind, source, hosts, lane, input, output, canExtract } = scraper;
  const versions = await catalog.versions(id);
  return {
    ...{ id, name, version, description, kind },
    hosts: hosts === null ? null : [...hosts],
    source,
    lane,
    can_extract: canExtract,
    input_schema: { ...input },
    output_schema: output === null ? null : { ...output },
    versions: versions.map((each) => ({ version: each.version, added_at: new Date(each.addedAt).toISOString() })),
    recording: scraper.recording === null ? null : { ...scraper.recording.sent.document },
  };
}

function inFile(id: string, file: string): never {
  throw new Problem('scraper_in_file', `${id} is the id of a scraper that is a file (${file}). It is changed there.`);
}

async function noScraper({ catalog }: ApiDeps, id: string, version?: string): Promise<never> {
  const known = version === undefined ? [] : await catalog.versions(id);
  if (known.length > 0) {
    const names = known.slice(-10).map((each) => each.version);
    throw new Problem('scraper_not_found', `${id} has no version ${version}. It has ${names.join(', ')}.`);
  }
  throw new Problem('scraper_not_found', sentence(await describeUnknownScraper(catalog, id)));
}
