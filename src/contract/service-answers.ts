import { z } from 'zod';
import { LANES } from '../domain/lane.ts';
import { count, flag, list, text, textOrNull, timeOrNull } from './answer-fields.ts';

/** What the service answers about itself. */
const laneSchema = z.object({
  lane: z.enum(LANES).meta({ description: 'Which workers take from it.' }),
  waiting: count('Batches that no worker has yet.'),
  in_flight: count('Batches in the hands of workers.'),
});

export const queueSchema = z.object({ lanes: list(laneSchema, 'Every lane that there is.') });

export const healthSchema = z.object({
  status: z.literal('ok').meta({ description: 'Always ok: a process that is not does not answer.' }),
  version: text('Of the service.'),
  uptime_seconds: z.number().meta({ description: 'Since the process was started.' }),
});

const checkSchema = z.object({
  name: text('What was looked at.'),
  ok: flag('Whether it is well.'),
  message: textOrNull('What is wrong; null if nothing is.'),
});

export const readySchema = z.object({
  ready: flag('Whether all checks are well.'),
  checks: list(checkSchema, 'What must be well for the service to do its work.'),
});

export const hostSchema = z
  .object({
    host: text('As in an address: with its port, unless that is the usual one.'),
    paused_until: timeOrNull('No job visits it before; null if it is not paused.'),
    reason: textOrNull('What the host answered when it asked for the pause; null if it is not paused.'),
    reported_by: count('Worker processes that the host itself asked to wait. All of them do.'),
  })
  .meta({ id: 'Host', description: 'A host, and whether it is left alone.' });

export const hostsSchema = z.object({ hosts: list(hostSchema, 'Paused hosts, by name.') });

export const liftedSchema = z.object({
  host: text('The host.'),
  lifted: flag('Whether it was paused.'),
});

export type HostAnswer = z.infer<typeof hostSchema>;
export type HostsAnswer = z.infer<typeof hostsSchema>;
export type LiftedAnswer = z.infer<typeof liftedSchema>;
