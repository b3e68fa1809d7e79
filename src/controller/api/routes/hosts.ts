import { z } from 'zod';
import { hostPath, noQuery } from '../../../contract/requests.ts';
import { hostSchema, hostsSchema, liftedSchema } from '../../../contract/service-answers.ts';
import { type HostPause, parseHost } from '../../../domain/host-pause.ts';
import { jsonAnswer, NO_BODY, type Operation, operation } from '../operation.ts';
import type { ApiParts } from '../parts.ts';

const nothing = z.strictObject({});

/** Hosts that asked to be left alone. */
export function hostOperations({ hostPauses, clock }: ApiParts): Operation[] {
  return [
    operation({
      id: 'listHosts',
      method: 'GET',
      path: '/hosts',
      tag: 'hosts',
      summary: 'Hosts that are left alone for now',
      description:
        'A host that answers with Retry-After is not visited until then, by any job: see `retries.max_retry_after_seconds` of a policy. Pauses shorter than 10 s are not listed; a pause is listed a few seconds after it began.',
      access: 'read',
      params: nothing,
      query: noQuery,
      body: NO_BODY,
      answers: { 200: jsonAnswer('Paused hosts, by name.', hostsSchema) },
      problems: [],
      async handle() {
        const pauses = await hostPauses.inForce(clock.now());
        return { status: 200, json: { hosts: pauses.map((pause) => presentHost(pause.host, pause)) } };
      },
    }),
    operation({
      id: 'getHost',
      method: 'GET',
      path: '/hosts/{host}',
      tag: 'hosts',
      summary: 'Whether a host is left alone, until when and why',
      access: 'read',
      params: hostPath,
      query: noQuery,
      body: NO_BODY,
      answers: { 200: jsonAnswer('The host. Any host can be asked about.', hostSchema) },
      problems: [],
      async handle({ params }) {
        const host = nameOf(params.host);
        const pauses = await hostPauses.inForce(clock.now());
        return { status: 200, json: presentHost(host, pauses.find((pause) => pause.host === host) ?? null) };
      },
    }),
    operation({
      id: 'liftHostPause',
      method: 'DELETE',
      path: '/hosts/{host}/pause',
      tag: 'hosts',
      summary: 'Lifts the pause of a host',
      description:
        'Workers hear of it within a few seconds. A host that still wants to be left alone says so again, and is paused again.',
      access: 'full',
      params: hostPath,
      query: noQuery,
      body: NO_BODY,
      answers: { 200: jsonAnswer('Whether there was a pause to lift.', liftedSchema) },
      problems: [],
      async handle({ params }) {
        const host = nameOf(params.host);
        return { status: 200, json: { host, lifted: await hostPauses.lift(host, clock.now()) } };
      },
    }),
  ];
}

/** The path was checked: it is the host of some address. */
function nameOf(given: string): string {
  return parseHost(given) ?? given;
}

function presentHost(host: string, pause: HostPause | null) {
  return {
    host,
    paused_until: pause === null ? null : new Date(pause.until).toISOString(),
    reason: pause?.reason ?? null,
    reported_by: pause?.reportedBy ?? 0,
  };
}
