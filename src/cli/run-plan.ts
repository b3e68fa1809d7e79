import { rmSync } from 'node:fs';
import { type Config, ConfigError } from '../config.ts';
import { jobPath } from '../contract/client/api-paths.ts';
import type { JobPageAnswer } from '../contract/job-answers.ts';
import { openPrivateService } from '../main/private-service.ts';
import type { ColumnQuery } from './client/columns.ts';
import { type Client, openClient } from './client/command.ts';
import type { Terminal } from './client/terminal.ts';
import type { ItemList } from './jobs/item-list.ts';
import { commandLine } from './jobs/job-text.ts';
import { planList } from './jobs/plan-list.ts';
import { exitCodeOfPlan, planText, withoutPlanning } from './jobs/plan-text.ts';
import type { RunScraper } from './run-job.ts';

interface PlanRunRequest {
  /** Its folder belongs to this plan alone, and is deleted unless the results are kept. */
  readonly config: Config;
  readonly scraper: RunScraper;
  readonly list: ItemList | null;
  readonly columns: ColumnQuery;
  readonly policy: object | null;
  readonly limit?: number;
  readonly sample: number | null;
  readonly isKept: boolean;
  readonly isJson: boolean;
  /** As typed, for the command that starts the job. */
  readonly words: readonly string[];
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

/** Does the same as `trawl jobs plan`, on a service inside this process. Returns the exit code. */
export async function planRun(request: PlanRunRequest): Promise<number> {
  const { config, scraper, list, terminal, signal, isKept } = request;
  if (list === null) throw new ConfigError('--plan needs the list: give --items FILE');
  const service = await openPrivateService(config, { lane: scraper.lane, onDeath() {}, isWanted: () => false });
  try {
    const client = openClient(terminal, service.address, signal);
    await endOthers(client);
    service.startWorkers();
    const planned = await planList(client, { ...request, scraperId: scraper.id, list });
    const start = commandLine(withoutPlanning(request.words));
    const kept = isKept && planned.plan !== null ? `${config.dataDir}/results` : null;
    if (request.isJson) await terminal.out.json({ ...planned, start });
    else await terminal.out.write(planText(planned, { name: list.name, start, kept }));
    return exitCodeOfPlan(planned);
  } finally {
    await service.stop();
    if (!isKept) rmSync(config.dataDir, { recursive: true, force: true });
  }
}

/** A plan that was killed may have left its sample here; it must not run beside this one. */
async function endOthers({ api }: Client): Promise<void> {
  for (const status of ['pending', 'in_progress'] as const) {
    const { jobs } = await api.get<JobPageAnswer>('/jobs', { status });
    for (const { job_id: id } of jobs) await api.post(`${jobPath(id)}/cancel`);
  }
}
