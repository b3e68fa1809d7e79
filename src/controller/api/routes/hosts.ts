import { hostPath } from '../../../contract/requests.ts';
import { hostSchema, hostsSchema, liftedSchema } from '../../../contract/service-answers.ts';
import type { HostPause } from '../../../domain/host-pause.ts';
import type { ApiDeps } from '../api-deps.ts';
import { jsonAnswer, type Operation, operation } from '../operation.ts';

/** Hosts that asked for a pause. */
export function hostOperations({ hostPauses, clock }: ApiDeps): Operation[] {
  return [
    operation({
      id: 'listHosts',
      method: 'GET',
      path: '/hosts',
      tag: 'hosts',
      summary: 'List paused hosts',
      description:
        'When a host answers with Retry-After, no job contacts it before that time: see `retries.max_retry_after_seconds` of ' +
        'the policy. Pauses shorter than 10 s are not listed; a pause appears a few seconds after it began.',
      access: 'read',
      answers: { 200: jsonAnswer('Paused hosts, by name.', hostsSchema) },
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
      summary: 'Get whether a host is paused, until when and why',
      access: 'read',
      params: hostPath,
      answers: { 200: jsonAnswer('The host. Any host name is accepted.', hostSchema) },
      async handle({ params: { host } }) {
        const pauses = await hostPauses.inForce(clock.now());
        return { status: 200, json: presentHost(host, pauses.find((pause) => pause.host === host) ?? null) };
      },
    }),
    operation({
      id: 'liftHostPause',
      method: 'DELETE',
      path: '/hosts/{host}/pause',
      tag: 'hosts',
      summary: 'Lift the pause of a host',
      description: 'It takes effect within a few seconds. If the host asks for a pause again, it is paused again.',
      access: 'full',
      params: hostPath,
      answers: { 200: jsonAnswer('Whether the host was paused.', liftedSchema) },
      async handle({ params: { host } }) {
        return { status: 200, json: { host, lifted: await hostPauses.lift(host, clock.now()) } };
      },
    }),
  ];
}

function presentHost(host: string, pause: HostPause | null) {
  return {
    host,
    paused_until: pause === null ? null : new Date(pause.until).toISOString(),
    reason: pause?.reason ?? null,
    reported_by: pause?.reportedBy ?? 0,
  };
}
