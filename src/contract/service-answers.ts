import { z } from 'zod';
import { LANES } from '../domain/lane.ts';
import { amountOrNull, count, flag, list, text, textOrNull, time, timeOrNull } from './answer-fields.ts';

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

const hostSettingsSchema = z
  .object({
    max_concurrent_requests: amountOrNull('Maximum number of concurrent requests; null for the configured default.'),
    requests_per_second: amountOrNull('Maximum number of requests started per second; null for no limit.'),
    min_delay_seconds: amountOrNull(
      'Minimum time between the starts of two requests; null for the configured default.',
    ),
    note: textOrNull('Why these settings were made.'),
    paused_until: timeOrNull('Until when an operator has paused the host; null if that is over or was not set.'),
    changed_at: time('When they were last changed.'),
    version: text('Changes with every change of the settings.'),
  })
  .meta({ id: 'HostSettings', description: 'Settings of a host, which apply to all jobs together.' });

export const hostSchema = z
  .object({
    host: text('Host name, with the port unless it is the default one.'),
    paused_until: timeOrNull('No job contacts the host before this time; null if it is not paused.'),
    reason: textOrNull(
      'The response with which the host asked for the pause, or the note of the operator who paused it; null if it is not ' +
        'paused.',
    ),
    paused_by: z
      .enum(['host', 'operator'])
      .nullable()
      .meta({ description: 'Who asked for the pause that ends last; null if it is not paused.' }),
    reported_by: count('Worker processes that received such a response. The pause applies to all of them.'),
    settings: hostSettingsSchema.nullable().meta({ description: 'What was set for this host; null if nothing was.' }),
  })
  .meta({ id: 'Host', description: 'A host, whether it is paused, and its settings.' });

export const hostsSchema = z.object({ hosts: list(hostSchema, 'Hosts that are paused or have settings, by name.') });

export const liftedSchema = z.object({
  host: text('The host.'),
  lifted: flag('Whether the host was paused.'),
});

export const clearedSchema = z.object({
  host: text('The host.'),
  cleared: flag('Whether the host had settings.'),
});

export type HostAnswer = z.infer<typeof hostSchema>;
export type HostsAnswer = z.infer<typeof hostsSchema>;
export type LiftedAnswer = z.infer<typeof liftedSchema>;
export type ClearedAnswer = z.infer<typeof clearedSchema>;
