import { healthSchema, queueSchema, readySchema } from '../../../contract/service-answers.ts';
import type { ApiDeps } from '../api-deps.ts';
import { jsonAnswer, type Operation, operation } from '../operation.ts';

export function serviceOperations(deps: ApiDeps): Operation[] {
  const { queue, clock, version } = deps;
  const startedAt = clock.elapsed();
  return [
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
