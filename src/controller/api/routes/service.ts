import { Problem, sentence } from '../../../contract/problem.ts';
import { scraperPath } from '../../../contract/requests.ts';
import { scraperSchema, scrapersSchema } from '../../../contract/scraper-answers.ts';
import { healthSchema, queueSchema, readySchema } from '../../../contract/service-answers.ts';
import { errorMessage } from '../../../domain/error-message.ts';
import { describeUnknownScraper } from '../../intake/scraper-catalog.ts';
import type { ApiDeps } from '../api-deps.ts';
import { jsonAnswer, type Operation, operation } from '../operation.ts';

export function serviceOperations(deps: ApiDeps): Operation[] {
  const { catalog, queue, clock, version } = deps;
  const startedAt = clock.elapsed();
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
      answers: { 200: jsonAnswer('The scraper.', scraperSchema) },
      problems: ['scraper_not_found', 'scraper_unusable'],
      async handle({ params: { scraper_id: id } }) {
        const scraper = await catalog.find(id).catch((error: unknown) => {
          throw new Problem('scraper_unusable', errorMessage(error));
        });
        if (scraper === null)
          throw new Problem('scraper_not_found', sentence(await describeUnknownScraper(catalog, id)));
        const { name, description, kind, hosts, lane, input, output, canExtract } = scraper;
        return {
          status: 200,
          json: {
            ...{ id, name, version: scraper.version, description, kind, hosts, lane },
            can_extract: canExtract,
            input_schema: input,
            output_schema: output,
          },
        };
      },
    }),
    operation({
      id: 'getQueue',
      method: 'GET',
      path: '/queue',
      tag: 'service',
      summary: 'Get how many batches are waiting and in flight, per lane',
      access: 'read',
      answers: { 200: jsonAnswer('Queue depths.', queueSchema) },
      async handle() {
        const lanes = await queue.depth();
        return {
          status: 200,
          json: { lanes: lanes.map(({ lane, waiting, delivered }) => ({ lane, waiting, in_flight: delivered })) },
        };
      },
    }),
    operation({
      id: 'getHealth',
      method: 'GET',
      path: '/health',
      tag: 'service',
      summary: 'Check whether the process is alive',
      access: 'open',
      answers: { 200: jsonAnswer('The process is alive.', healthSchema) },
      async handle() {
        const uptime = Math.round((clock.elapsed() - startedAt) / 1000);
        return { status: 200, json: { status: 'ok', version, uptime_seconds: uptime } };
      },
    }),
    operation({
      id: 'getReadiness',
      method: 'GET',
      path: '/ready',
      tag: 'service',
      summary: 'Check whether the service can work',
      description: 'For load balancers. A process that is alive but not ready does not need a restart.',
      access: 'open',
      answers: {
        200: jsonAnswer('The service is ready.', readySchema),
        503: jsonAnswer('The service is not ready: the checks say why.', readySchema),
      },
      async handle() {
        const checks = await deps.checks();
        const ready = checks.every(({ ok }) => ok);
        return { status: ready ? 200 : 503, json: { ready, checks } };
      },
    }),
  ];
}
