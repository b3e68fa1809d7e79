import { z } from 'zod';
import { LANES } from '../domain/lane.ts';
import { count, flag, list, text, textOrNull, timeOrNull } from './answer-fields.ts';

/** What the service says about itself. */
const laneSchema = z.object({
  lane: z.enum(LANES).meta({ description: 'The lane; each has its own workers.' }),
  waiting: count('Batches waiting for a worker.'),
  in_flight: count('Batches being processed.'),
});

export const queueSchema = z.object({ lanes: list(laneSchema, 'All lanes.') });

export const healthSchema = z.object({
  status: z.literal('ok').meta({ description: 'Always `ok`: an unhealthy process does not answer.' }),
  version: text('Version of the service.'),
  uptime_seconds: z.number().meta({ description: 'Seconds since the process started.' }),
});

const checkSchema = z.object({
  name: text('What was checked.'),
  ok: flag('Whether the check passed.'),
  message: textOrNull('Why the check failed; null if it passed.'),
});

export const readySchema = z.object({
  ready: flag('Whether every check passed.'),
  checks: list(checkSchema, 'Everything the service needs in order to work.'),
});

export const hostSchema = z
  .object({
    host: text('Host name, with the port unless it is the default one.'),
    paused_until: timeOrNull('No job contacts the host before this time; null if it is not paused.'),
    reason: textOrNull('The response with which the host asked for the pause; null if it is not paused.'),
    reported_by: count('Worker processes that received such a response. The pause applies to all of them.'),
  })
  .meta({ id: 'Host', description: 'A host and whether it is paused.' });

export const hostsSchema = z.object({ hosts: list(hostSchema, 'Paused hosts, by name.') });

export const liftedSchema = z.object({
  host: text('The host.'),
  lifted: flag('Whether the host was paused.'),
});

export type HostAnswer = z.infer<typeof hostSchema>;
export type HostsAnswer = z.infer<typeof hostsSchema>;
export type LiftedAnswer = z.infer<typeof liftedSchema>;
