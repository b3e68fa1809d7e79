import type { Config } from '../../config.ts';
import { Interrupted } from '../../contract/client/api-error.ts';
import { jobPath } from '../../contract/client/api-paths.ts';
import type {
  CarriedRunsAnswer,
  FoundRunAnswer,
  NothingPendingAnswer,
  StartedRunAnswer,
} from '../../contract/run-answers.ts';
import type { Lane } from '../../domain/lane.ts';
import { openPrivateService, type PrivateService } from '../../main/private-service.ts';
import { type Client, openClient } from '../client/command.ts';
import { CommandFailed } from '../client/command-failure.ts';
import type { Terminal } from '../client/terminal.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { watchJob } from '../jobs/watch-job.ts';
import { exitCodeFor, itemsText } from './run-text.ts';

export interface Carrying {
  readonly config: Config;
  readonly lane: Lane;
  /** Where the request is posted to. */
  readonly path: string;
  readonly request: object;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly options: { readonly json?: true };
}

/** A run of many items is read and stored before the answer. */
const START_SILENCE_MS = 10 * 60_000;
const LOOK_EVERY_MS = 200;

/** Carries out a run on a service inside this process, until it is finalized or cannot go on. */
export async function carryOut({ config, lane, path, request, terminal, signal, options }: Carrying): Promise<number> {
  const onDeath = () => {
    if (!signal.aborted)
      terminal.note('A worker process ended. Another takes its place, and its items are tried again.');
  };
  const service = await openPrivateService(config, { lane, onDeath, isWanted: () => true });
  try {
    const client = openClient(terminal, service.address, signal);
    const run = await follow(service, client, path, request);
    const { run_id, domain, items, job_ids, end_time } = run;
    const isEnded = run.carried === null && end_time !== null;
    if (options.json) await terminal.out.json({ run_id, domain, ended: isEnded, items, job_ids });
    else {
      const state = isEnded ? 'has ended' : 'stays open';
      await terminal.out.write(`Run ${printable(run_id)} of ${printable(domain)} ${state}. ${itemsText(items)}\n`);
      if (run.carried !== null) terminal.note(`trawl runs start ${printable(domain)} resumes it.`);
    }
    return isEnded ? exitCodeFor(items) : EXIT.failed;
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CommandFailed('interrupted; the same command continues where it stopped', EXIT.interrupted);
  } finally {
    await service.stop();
  }
}

function describeTaken({ run_id }: StartedRunAnswer, request: object): string {
  if (!('domain' in request)) return `Trying again what has failed in run ${printable(run_id)}.`;
  const hasUrls = 'urls' in request && Array.isArray(request.urls) && request.urls.length > 0;
  return `Taking the active run ${printable(run_id)}${hasUrls ? '; the URLs that were given are only for a new one' : ''}.`;
}

/** The run when it has ended, or its job needs a user. */
async function follow(service: PrivateService, client: Client, path: string, request: object): Promise<FoundRunAnswer> {
  const { api, note } = client;
  const post = { method: 'POST', path, body: request, silenceMs: START_SILENCE_MS } as const;
  const started = await api.json<StartedRunAnswer | NothingPendingAnswer>(post);
  const find = () => api.get<FoundRunAnswer>(`/runs/${encodeURIComponent(started.run_id)}`);
  if ('nothing_pending' in started) {
    note(`Nothing is pending in run ${printable(started.run_id)}.`);
    return await find();
  }
  if (started.already_started) {
    note(`Run ${printable(started.run_id)} was started before; continuing with job ${printable(started.job_id)}.`);
    const isStopped = started.job_status === 'failed' || started.job_status === 'paused';
    if (isStopped) await api.post(`${jobPath(started.job_id)}/resume`);
  } else if (!started.new_run) note(describeTaken(started, request));
  service.startWorkers();
  for (let jobId: string | null = null; ; ) {
    // Not the run itself, which the ETL API would have to send with all its items.
    const { runs } = await api.get<CarriedRunsAnswer>('/runs');
    const carried = runs.find(({ run_id }) => run_id === started.run_id);
    if (carried === undefined) return await find();
    if (carried.job_id === jobId || carried.job_status === null) {
      await api.clock.sleep(LOOK_EVERY_MS, api.signal);
      if (api.signal.aborted) throw new Interrupted();
      continue;
    }
    jobId = carried.job_id;
    const { status, reason } = await watchJob(client, jobId);
    if (status === 'completed' || status === 'cancelled') continue;
    note(`Job ${printable(jobId)} has stopped${reason === null ? '' : `: ${printable(reason.message)}`}.`);
    return await find();
  }
}
