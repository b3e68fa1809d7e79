import type { Logger } from 'pino';
import { garbageCollector } from '../adapters/system/collect-garbage.ts';
import { type Config, loadSecrets } from '../config.ts';
import { HostWatch } from '../domain/host-watch.ts';
import type { Lane } from '../domain/lane.ts';
import { PoliteHostGate } from '../egress/polite-host-gate.ts';
import { SeenReports } from '../egress/seen-reports.ts';
import { SharedPauses } from '../egress/shared-pauses.ts';
import { withTidyMemory } from '../egress/tidy-memory.ts';
import type { Clock } from '../ports/clock.ts';
import { RobotsBook } from '../scraping/robots/robots-book.ts';
import { SharedStates } from '../scraping/shared-states.ts';
import type { WorkerDeps } from '../worker/worker.ts';
import type { WorkerBackend } from './backend.ts';
import { egressSettings } from './egress-settings.ts';
import type { WorkerSiteTools } from './site-data.ts';
import { docsUserAgent } from './user-agent.ts';
import { openWebOnDemand } from './web-on-demand.ts';

interface ToolsDeps {
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly backend: Pick<
    WorkerBackend,
    | 'hostPauses'
    | 'hostSettings'
    | 'hostRecords'
    | 'hostShares'
    | 'pausesEveryMs'
    | 'seenEveryMs'
    | 'shareLeaseMs'
    | keyof WorkerSiteTools
  >;
  /** The name of the worker. */
  readonly id: string;
  readonly onTrouble: (where: string, error: unknown) => void;
}

interface OpenTools {
  readonly tools: WorkerDeps['tools'];
  readonly isStillHeld: WorkerDeps['isStillHeld'];
  /** Resolves when pauses and limits of hosts are known. An earlier request might break them. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** What a worker process opens for the scrapers of its lane, and nothing else. */
const OPEN_TOOLS: Readonly<Record<Lane, (deps: ToolsDeps) => OpenTools | Promise<OpenTools>>> = {
  http: openHttpTools,
  browser: openAllTools,
};

export async function openTools(lane: Lane, deps: ToolsDeps): Promise<OpenTools> {
  return OPEN_TOOLS[lane](deps);
}

/** Scrapers of the lane `browser` may also use HTTP. */
async function openAllTools(deps: ToolsDeps): Promise<OpenTools> {
  const { openBrowserTools } = await import('./browser-tools.ts');
  const browsers = openBrowserTools(deps.config, deps);
  const { tools, close, ...rest } = openHttpTools(deps);
  return {
    ...rest,
    tools: { ...tools, browser: browsers.tools },
    async close() {
      await browsers.close();
      await close();
    },
  };
}

function openHttpTools({ config, log, clock, backend, id, onTrouble }: ToolsDeps): OpenTools {
  const web = withTidyMemory(openWebOnDemand({ ...egressSettings(config), clock }), {
    ...{ collect: garbageCollector(), clock },
  });
  const pauses = new SharedPauses({
    ...{ pauses: backend.hostPauses, settings: backend.hostSettings, everyMs: backend.pausesEveryMs },
    ...{ worker: id, clock, onError: onTrouble },
  });
  const gate = new PoliteHostGate({
    clock,
    maxConcurrent: config.hostConcurrency,
    minDelayMs: config.hostDelayMs,
    onHold: (...hold) => pauses.note(...hold),
    shared: { shares: backend.hostShares, leaseMs: backend.shareLeaseMs, process: id, onError: onTrouble },
  });
  const states = new SharedStates({
    gate,
    elapsed: () => clock.elapsed(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  });
  const { sites, pageCache, pathErrors, batchTurns } = backend;
  const siteTools = { sites, pageCache, pathErrors, batchTurns, userAgent: docsUserAgent(config) };
  const robots = new RobotsBook({ web, gate, clock, log });
  const watch = new HostWatch();
  const seen = new SeenReports({
    ...{ watch, records: backend.hostRecords, clock, everyMs: backend.seenEveryMs, onError: onTrouble },
  });
  const ended = new AbortController();
  const ready = pauses.runOnce(gate).catch((error: unknown) => onTrouble('host pauses', error));
  void ready.then(() => pauses.run(gate, ended.signal));
  const reporting = seen.run(ended.signal);
  return {
    ready,
    isStillHeld: ({ host }) => pauses.isPaused(gate, host),
    tools: {
      ...{ web, gate, watch, log, secrets: loadSecrets(config), states, robots, browser: null, siteTools },
      allowsScripts: config.recordingScripts,
    },
    async close() {
      ended.abort();
      gate.close();
      states.close();
      robots.close();
      await web.close();
      await reporting;
    },
  };
}
