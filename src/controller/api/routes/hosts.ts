import { Problem } from '../../../contract/problem.ts';
import { hostPath, hostSettingsBody } from '../../../contract/requests.ts';
import {
  clearedSchema,
  type HostAnswer,
  hostSchema,
  hostsSchema,
  liftedSchema,
} from '../../../contract/service-answers.ts';
import type { HostPause } from '../../../domain/host-pause.ts';
import { type HostSettings, MAX_HOSTS_WITH_SETTINGS, withOperatorPauses } from '../../../domain/host-settings.ts';
import { endWaits } from '../../jobs/end-waits.ts';
import type { ApiDeps } from '../api-deps.ts';
import { jsonAnswer, jsonBody, type Operation, operation } from '../operation.ts';

/** A pause beyond this is a mistyped year. */
const LONGEST_PAUSE_MS = 366 * 86_400_000;

const EXAMPLE = { requests_per_second: 2, max_concurrent_requests: 4, note: 'agreed with the county on 3 May' };

/** Hosts that asked for a pause, and settings that operators made. */
export function hostOperations({ hostPauses, hostSettings, ledger, clock }: ApiDeps): Operation[] {
  async function readHost(host: string): Promise<HostAnswer> {
    const now = clock.now();
    const [asked, settings] = await Promise.all([hostPauses.inForce(now), hostSettings.get(host)]);
    const pauses = withOperatorPauses(asked, settings === null ? [] : [settings], now);
    return presentHost(host, pauses.find((pause) => pause.host === host) ?? null, settings, now);
  }

  /** Ends the pause that an operator set, and keeps the other settings. False if there was none. */
  async function liftOperatorPause(host: string): Promise<boolean> {
    const now = clock.now();
    const settings = await hostSettings.get(host);
    if (settings === null || settings.pausedUntil === null || settings.pausedUntil <= now) return false;
    const lifted = { ...settings, pausedUntil: null, changedAt: now, version: clock.id() };
    if ((await hostSettings.set(lifted, settings.version)) === 'set') return true;
    return await liftOperatorPause(host);
  }

  return [
    operation({
      id: 'listHosts',
      method: 'GET',
      path: '/hosts',
      tag: 'hosts',
      summary: 'List hosts that are paused or have settings',
      description:
        'When a host answers with Retry-After, no job contacts it before that time: see `retries.max_retry_after_seconds` of ' +
        'the policy. Pauses shorter than 10 s are not listed; a pause appears a few seconds after it began.',
      access: 'read',
      answers: { 200: jsonAnswer('Hosts that are paused or have settings, by name.', hostsSchema) },
      async handle() {
        const now = clock.now();
        const [asked, settings] = await Promise.all([hostPauses.inForce(now), hostSettings.list()]);
        const pauses = new Map(withOperatorPauses(asked, settings, now).map((pause) => [pause.host, pause]));
        const set = new Map(settings.map((each) => [each.host, each]));
        const names = [...new Set([...pauses.keys(), ...set.keys()])].sort();
        const hosts = names.map((host) => presentHost(host, pauses.get(host) ?? null, set.get(host) ?? null, now));
        return { status: 200, json: { hosts } };
      },
    }),
    operation({
      id: 'getHost',
      method: 'GET',
      path: '/hosts/{host}',
      tag: 'hosts',
      summary: 'Get the settings of a host, and whether it is paused, until when and why',
      access: 'read',
      params: hostPath,
      answers: { 200: jsonAnswer('The host. Any host name is accepted.', hostSchema) },
      async handle({ params: { host } }) {
        return { status: 200, json: await readHost(host) };
      },
    }),
    operation({
      id: 'setHost',
      method: 'PUT',
      path: '/hosts/{host}',
      tag: 'hosts',
      summary: 'Set the limits of a host, or pause it',
      description:
        'Replaces all settings of the host. They apply to all jobs together, in addition to what the policy of each job ' +
        'allows, and take precedence over the configuration. Workers follow within one second, on AWS within five. A host ' +
        'that is paused is treated as if it had asked for the pause itself.',
      access: 'full',
      params: hostPath,
      body: jsonBody(hostSettingsBody, EXAMPLE),
      answers: { 200: jsonAnswer('The host with its new settings.', hostSchema) },
      problems: ['host_settings_changed'],
      async handle({ params: { host }, body }) {
        const now = clock.now();
        const pausedUntil = body.paused_until === null ? null : Date.parse(body.paused_until);
        checkPause(pausedUntil, now);
        if ((await hostSettings.get(host)) === null) await checkRoom();
        const settings: HostSettings = {
          host,
          maxConcurrent: body.max_concurrent_requests,
          requestsPerSecond: body.requests_per_second,
          minDelayMs: body.min_delay_seconds === null ? null : Math.round(body.min_delay_seconds * 1000),
          note: body.note,
          pausedUntil,
          changedAt: now,
          version: clock.id(),
        };
        if ((await hostSettings.set(settings, body.version)) === 'set') {
          // The pause may be shorter than before, or gone: jobs that wait for the host look again.
          await endWaits({ ledger, clock }, host);
          return { status: 200, json: await readHost(host) };
        }
        throw new Problem(
          'host_settings_changed',
          `The settings of ${host} no longer have the version ${body.version}. Read them again and repeat the change.`,
        );
      },
    }),
    operation({
      id: 'clearHost',
      method: 'DELETE',
      path: '/hosts/{host}',
      tag: 'hosts',
      summary: 'Clear the settings of a host',
      description:
        'Also ends the pause that an operator set. A pause that the host itself asked for stays: see ' +
        '`DELETE /hosts/{host}/pause`.',
      access: 'full',
      params: hostPath,
      answers: { 200: jsonAnswer('Whether the host had settings.', clearedSchema) },
      async handle({ params: { host } }) {
        const cleared = await hostSettings.clear(host);
        await endWaits({ ledger, clock }, host);
        return { status: 200, json: { host, cleared } };
      },
    }),
    operation({
      id: 'liftHostPause',
      method: 'DELETE',
      path: '/hosts/{host}/pause',
      tag: 'hosts',
      summary: 'Lift the pause of a host',
      description:
        'It does not matter whether the host asked for the pause or an operator set it. Jobs that wait for the host continue ' +
        'within a second, on AWS within five. If the host asks for a pause again, it is paused again.',
      access: 'full',
      params: hostPath,
      answers: { 200: jsonAnswer('Whether the host was paused.', liftedSchema) },
      async handle({ params: { host } }) {
        const lifted = [await hostPauses.lift(host, clock.now()), await liftOperatorPause(host)];
        // Pauses are lifted first: work dispatched after that must not be held back by them again.
        const jobs = await endWaits({ ledger, clock }, host);
        return { status: 200, json: { host, lifted: lifted.includes(true) || jobs > 0 } };
      },
    }),
  ];

  /** Workers read all settings every few seconds. Concurrent requests may exceed the limit by a few. */
  async function checkRoom(): Promise<void> {
    if ((await hostSettings.list()).length < MAX_HOSTS_WITH_SETTINGS) return;
    const most = MAX_HOSTS_WITH_SETTINGS.toLocaleString('en-US');
    throw invalid('', `At most ${most} hosts can have settings: clear those that are no longer needed.`);
  }
}

function checkPause(until: number | null, now: number): void {
  if (until === null) return;
  if (until <= now) throw invalid('paused_until', 'must be in the future');
  if (until > now + LONGEST_PAUSE_MS) throw invalid('paused_until', 'must be at most a year ahead');
}

function invalid(path: string, message: string): Problem {
  const detail = path === '' ? message : `${path} ${message}.`;
  return new Problem('invalid_request', detail, [{ path, message }]);
}

function presentHost(host: string, pause: HostPause | null, settings: HostSettings | null, now: number): HostAnswer {
  const isOperators = pause !== null && pause.until === settings?.pausedUntil;
  return {
    host,
    paused_until: pause && timeText(pause.until),
    reason: pause?.reason ?? null,
    paused_by: pause && (isOperators ? 'operator' : 'host'),
    reported_by: pause?.reportedBy ?? 0,
    settings: settings && presentSettings(settings, now),
  };
}

function presentSettings(settings: HostSettings, now: number) {
  const { maxConcurrent, requestsPerSecond, minDelayMs, note, pausedUntil, changedAt, version } = settings;
  return {
    max_concurrent_requests: maxConcurrent,
    requests_per_second: requestsPerSecond,
    min_delay_seconds: minDelayMs === null ? null : minDelayMs / 1000,
    note,
    paused_until: pausedUntil === null || pausedUntil <= now ? null : timeText(pausedUntil),
    changed_at: timeText(changedAt),
    version,
  };
}

function timeText(time: number): string {
  return new Date(time).toISOString();
}
