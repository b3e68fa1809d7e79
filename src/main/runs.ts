import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { Loop } from '../controller/engine/loop.ts';
import { etlProblem } from '../domain/etl-settings.ts';
import type { Clock } from '../ports/clock.ts';
import type { RunService } from '../ports/run-service.ts';
import { EtlClient } from '../runs/etl/etl-client.ts';
import type { EtlDeps } from '../runs/etl/etl-request.ts';
import { type OrchestratorDeps, RunOrchestrator } from '../runs/orchestrator/run-orchestrator.ts';

/** How often orders are looked at although nothing was heard, and how long reports are gathered. */
const STEP_EVERY_MS = 5000;
const GATHER_MS = 100;

type Runs = { readonly service: RunService } | { readonly problem: string };

export interface OpenRuns {
  /** Or what must be set before runs can be carried out. */
  readonly runService: Runs;
  close(): Promise<void>;
}

interface RunsDeps extends Omit<OrchestratorDeps, 'etl' | 'onNews' | 'log'> {
  readonly log: Logger;
  readonly onError: (where: string, error: unknown) => void;
}

/** Carries out scrape runs in the background, for as long as the engine is open. */
export function openRuns(config: Config, { onError, ...deps }: RunsDeps): OpenRuns {
  const problem = etlProblem(config);
  if (problem !== null) return { runService: { problem }, async close() {} };
  const { clock } = deps;
  const stop = new AbortController();
  const service = new RunOrchestrator({
    ...{ ...deps, etl: openEtl(config, clock, deps.log, stop.signal) },
    onNews: (what) => (what === 'report' ? reports : steps).poke(),
  });
  const loop = (where: string, runOnce: () => Promise<unknown>) =>
    new Loop({ clock, everyMs: STEP_EVERY_MS, runOnce, onError: (error) => onError(where, error) });
  const steps = loop('runs', () => service.runOnce());
  const reports = loop('reports of runs', async () => {
    await clock.sleep(GATHER_MS, stop.signal);
    await service.reportOnce();
  });
  const running = Promise.all([steps.run(stop.signal), reports.run(stop.signal)]);
  return {
    runService: { service },
    async close() {
      service.close();
      stop.abort();
      await running;
    },
  };
}

/** The settings must be there (`etlProblem`). */
export function openEtl(
  { etlApiEndpoint: endpoint, etlApiKey: apiKey }: Config,
  clock: Clock,
  log: EtlDeps['log'],
  signal: AbortSignal,
): EtlClient {
  return new EtlClient({ endpoint, apiKey, clock, log, signal });
}
