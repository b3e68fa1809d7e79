import type { Metrics } from '../../metrics/open-metrics.ts';
import { type Operation, operation } from '../operation.ts';

export function metricsOperation(metrics: Metrics): Operation {
  return operation({
    id: 'getMetrics',
    method: 'GET',
    path: '/metrics',
    tag: 'service',
    summary: 'Get metrics in the Prometheus text format',
    access: 'read',
    answers: {
      200: { description: 'The metrics.', content: { 'text/plain': 'Prometheus text exposition format 0.0.4.' } },
    },
    async handle() {
      return { status: 200, headers: { 'content-type': metrics.contentType }, text: await metrics.render() };
    },
  });
}
