import { z } from 'zod';
import { amountOrNull, count, flag, jobId, list, text } from './answer-fields.ts';

/** What a job did at each host, and what it was allowed to do. */
const hostComplianceSchema = z
  .object({
    host: text('Host name, with the port unless it is the default one.'),
    requests: count('Requests sent, retries and redirects included.'),
    exceeded: list(
      z.enum(['concurrency', 'rate', 'gap', 'pause']),
      'Limits that were certainly exceeded; empty if the job kept to all of them.',
    ),
    concurrency: z
      .object({
        highest: count('Highest number of concurrent requests that is certain.'),
        at_most: count('Upper bound: the busiest moments of all processes in the same second, added up.'),
        limit: amountOrNull('The stricter of the policy and the settings of the host; null for no limit.'),
      })
      .meta({ description: 'Concurrent requests.' }),
    requests_per_second: z
      .object({
        highest: count('Highest number of requests started in one second.'),
        highest_over_ten_seconds: z
          .number()
          .meta({ description: 'Highest average over ten seconds, which is what the limit is compared with.' }),
        limit: amountOrNull('The stricter of the policy and the settings of the host; null for no limit.'),
      })
      .meta({ description: 'Requests started per second.' }),
    gap_seconds: z
      .object({
        smallest: amountOrNull('Shortest time between the starts of two requests; null if there were fewer than two.'),
        limit: amountOrNull('Minimum delay of the host’s settings; null for none.'),
      })
      .meta({ description: 'Time between the starts of two requests of this job.' }),
    refusals: z
      .object({
        share_429: z.number().meta({ description: 'Share of requests answered with status 429, from 0 to 1.' }),
        share_403: z.number().meta({ description: 'Share of requests answered with status 403, from 0 to 1.' }),
      })
      .nullable()
      .meta({
        description:
          'How often the host refused. Counted when attempts end; null until then, and for hosts that are not counted ' +
          'separately in the usage of the job.',
      }),
    retry_after: z
      .object({
        honoured: flag('Whether no request started while the host wanted none.'),
        requests_during_pause: count('Requests that started during such a pause.'),
        soonest_after_seconds: amountOrNull(
          'Shortest time from the end of a pause to the next request; null if there was no pause or no request after it.',
        ),
      })
      .meta({ description: 'Whether the job waited when a host asked for it with Retry-After.' }),
  })
  .meta({ id: 'HostCompliance', description: 'What a job did at one host, compared with its limits.' });

export const complianceSchema = z
  .object({
    job_id: jobId,
    hosts: list(hostComplianceSchema, 'By number of requests, most first; the last seconds may be missing.'),
    omitted_hosts: count('Hosts that are not listed.'),
  })
  .meta({ id: 'Compliance', description: 'What a job did at each host.' });

export type HostComplianceAnswer = z.infer<typeof hostComplianceSchema>;
export type ComplianceAnswer = z.infer<typeof complianceSchema>;
