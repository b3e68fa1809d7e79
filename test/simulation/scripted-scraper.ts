import { z } from 'zod';
import { type FailedStep, type FailureType, failure } from '../../src/domain/failure.ts';
import { HostHeld } from '../../src/ports/host-gate.ts';
import type { ProducedArtifact, ScrapeContext, ScrapeResult, Scraper } from '../../src/scraping/scraper.ts';
import { Dice } from './dice.ts';
import { FORGOTTEN } from './forgetful-sites.ts';
import type { Door } from './host-door.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

/** How an item of a simulated job behaves, in any worker and however often; the seed decides. */
export type Script =
  | { readonly kind: 'scraped'; readonly artifacts: number; readonly size: number }
  | { readonly kind: 'skipped' }
  | {
      readonly kind: 'failed';
      readonly type: FailureType;
      readonly triesBefore: number;
      readonly hasPage: boolean;
      readonly step: FailedStep | null;
    }
  | { readonly kind: 'throws' }
  | { readonly kind: 'late' }
  | { readonly kind: 'never-returns' }
  /** Its host asks for more time than the item has, the first times; then it is scraped. */
  | { readonly kind: 'held'; readonly times: number; readonly extraMs: number }
  /** Kills the process that runs it: always, or only the first times. */
  | { readonly kind: 'kills'; readonly times: number };

const COMMON: readonly FailureType[] = ['timeout', 'network_error', 'server_error', 'blocked', 'rate_limited'];
const RARE: readonly FailureType[] = [
  'maintenance',
  'proxy_error',
  'structure_changed',
  'navigation_failed',
  'no_results',
  'not_found',
  'invalid_output',
  'unexpected',
];

export interface ScriptOptions {
  readonly hasPoison: boolean;
  /** Whether hosts may ask for more time than an item has. */
  readonly hasHeld: boolean;
  /** What all items of a job do; null where the seed decides for each. */
  readonly fixed: (jobId: string) => Script | null;
}

export class Scripts {
  readonly #seed: number;
  readonly #scripts = new Map<string, Script>();
  readonly #runs = new Map<string, number>();
  readonly #moods = new Map<string, { readonly bad: number; readonly poison: number; readonly slow: number }>();
  readonly #options: ScriptOptions;

  constructor(seed: number, options: ScriptOptions) {
    this.#seed = seed;
    this.#options = options;
  }

  of(jobId: string, itemId: string): Script {
    const name = `${jobId}/${itemId}`;
    const known = this.#scripts.get(name);
    if (known !== undefined) return known;
    const drawn =
      this.#options.fixed(jobId) ?? this.#write(new Dice(this.#seed, `script ${name}`), this.#moodOf(jobId));
    const isDrawn = this.#options.hasHeld && drawn.kind === 'scraped';
    const script = isDrawn ? (this.#drawHeld(name) ?? drawn) : drawn;
    this.#scripts.set(name, script);
    return script;
  }

  /** Whether the site of the job takes connections and never answers. */
  isHanging(jobId: string): boolean {
    return this.#options.fixed(jobId)?.kind === 'never-returns';
  }

  /** 1 for the first run of an item by any worker. */
  countRun(jobId: string, itemId: string): number {
    const name = `${jobId}/${itemId}`;
    const runs = (this.#runs.get(name) ?? 0) + 1;
    this.#runs.set(name, runs);
    return runs;
  }

  /** It has dice of its own, so that it changes nothing in worlds without such hosts. */
  #drawHeld(name: string): Script | null {
    if (!new Dice(this.#seed, 'hosts that ask for time').happens(0.2)) return null;
    const dice = new Dice(this.#seed, `held ${name}`);
    if (!dice.happens(0.15)) return null;
    return { kind: 'held', times: dice.pick([1, 1, 2]), extraMs: dice.int(0, 10_000) };
  }

  #moodOf(jobId: string) {
    const known = this.#moods.get(jobId);
    if (known !== undefined) return known;
    const dice = new Dice(this.#seed, `mood ${jobId}`);
    const bad = dice.pick([0, 0.05, 0.05, 0.2, 0.5, 1]);
    const poison = this.#options.hasPoison ? dice.pick([0.03, 0.08, 0.2]) : 0;
    const mood = { bad, poison, slow: dice.pick([0, 0, 0.03, 0.1]) };
    this.#moods.set(jobId, mood);
    return mood;
  }

  #write(dice: Dice, mood: { bad: number; poison: number; slow: number }): Script {
    if (dice.happens(mood.poison)) return { kind: 'kills', times: dice.pick([1, 2, 3, 99, 99, 99]) };
    if (dice.happens(mood.slow)) return { kind: dice.pick(['late', 'never-returns'] as const) };
    if (dice.happens(mood.bad)) return badScript(dice);
    if (dice.happens(0.05)) return { kind: 'skipped' };
    return { kind: 'scraped', artifacts: dice.pick([0, 1, 1, 2]), size: dice.pick([10, 100, 1500]) };
  }
}

function badScript(dice: Dice): Script {
  if (dice.happens(0.1)) return { kind: 'throws' };
  if (dice.happens(0.02)) return { kind: 'failed', type: 'proxy_config', triesBefore: 99, hasPage: false, step: null };
  const type = dice.happens(0.6) ? dice.pick(COMMON) : dice.pick(RARE);
  const triesBefore = dice.pick([1, 2, 99, 99, 99]);
  const hasPage = dice.happens(0.6);
  // This comes last, so that it changes nothing else in the world.
  const path = dice.pick([null, null, '2', '4', '4.then.1']);
  return { kind: 'failed', type, triesBefore, hasPage, step: path === null ? null : { path, label: 'click' } };
}

/** The scraper that plays the scripts, as it is in one worker process. */
export function scriptedScraper(
  process: SimProcess,
  sim: Sim,
  scripts: Scripts,
  door: Door | null,
  kill: () => void,
): Scraper {
  return {
    id: 'scripted',
    name: 'Scripted',
    version: '1.0.0',
    description: 'does what the seed says',
    kind: 'plain',
    lane: 'http',
    hosts: [],
    input: z.unknown(),
    output: null,
    metadata: false,
    extract: ({ body }) => read(new Dice(sim.seed, `reading of ${body}`), body),
    async scrape(context) {
      const { jobId, itemId } = context;
      const result = await playItem(context, { process, sim, scripts, door, kill });
      const linked = 'known' in context.input ? result : sim.links.addTo(result, jobId, itemId);
      if (linked !== result) sim.faults.count('scraper finds');
      return linked;
    },
  };
}

interface Stage {
  readonly process: SimProcess;
  readonly sim: Sim;
  readonly scripts: Scripts;
  readonly door: Door | null;
  readonly kill: () => void;
}

async function playItem(context: ScrapeContext, { process, sim, scripts, door, kill }: Stage): Promise<ScrapeResult> {
  const { jobId, itemId, tryNumber, signal } = context;
  sim.trace.add(sim.timeline.now, process.name, `* ${jobId}/${itemId} try ${tryNumber}`);
  if ('known' in context.input) return await playControl(context, sim, door);
  sim.oracle.begins(process, { jobId, itemId, tryNumber, signal });
  // A corrected item does something else than before.
  const { version } = context.input as { readonly version?: number };
  const role = version === undefined ? itemId : `${itemId}, version ${version}`;
  const script = scripts.of(jobId, role);
  const run = tryNumber === 1 ? scripts.countRun(jobId, role) : 0;
  sim.faults.count(`scraper: ${script.kind}`);
  if (scripts.isHanging(jobId)) sim.faults.count('site-hangs');
  await visit(new Dice(sim.seed, `${itemId} ${run}`), context, sim, door);
  if (script.kind === 'scraped' && sim.sites.forgets(jobId, sim.timeline.now)) return forgotten(sim);
  if (script.kind === 'held') {
    return run > script.times ? scraped(context, process, { artifacts: 1, size: 10 }) : askedToWait(context, script);
  }
  if (script.kind !== 'kills') return play(script, context, process);
  if (run > script.times || signal.aborted) return scraped(context, process, { artifacts: 1, size: 10 });
  sim.faults.count('poison');
  sim.trace.add(sim.timeline.now, process.name, `* ${jobId}/${itemId} kills its worker`);
  sim.oracle.kills(process, jobId, itemId);
  kill();
  return new Promise(() => {});
}

/** Found, unless the site has forgotten it; now and then it takes too long, which proves nothing. */
async function playControl(context: ScrapeContext, sim: Sim, door: Door | null): Promise<ScrapeResult> {
  const { jobId, itemId } = context;
  const dice = new Dice(sim.seed, `${jobId} ${itemId}`);
  await visit(dice, context, sim, door);
  sim.faults.count('control');
  if (dice.happens(0.1)) return { kind: 'failed', failure: failure('structure_changed', 'scripted: a bad moment') };
  if (dice.happens(0.1)) return { kind: 'failed', failure: failure('timeout', 'scripted: too slow') };
  if (sim.sites.forgets(jobId, sim.timeline.now)) return forgotten(sim);
  return { kind: 'scraped', artifacts: [artifactOf('data', '{"owner":"the same"}')] };
}

function forgotten(sim: Sim): ScrapeResult {
  sim.faults.count('site-forgets');
  return { kind: 'failed', failure: failure('no_results', FORGOTTEN) };
}

/** A request and its answer. What is cut off has been sent, but not received. */
async function visit(dice: Dice, context: ScrapeContext, { seed }: Sim, door: Door | null): Promise<void> {
  const { jobId, itemId, signal } = context;
  const leave = door === null ? null : await door.enter(jobId, signal);
  const ofItem = new Dice(seed, `visit ${jobId}/${itemId}`);
  const counted = context.usage
    .through(ofItem.pick(['none', 'none', 'residential'] as const))
    .of(`site-${ofItem.happens(0.7) ? 0 : ofItem.int(1, 40)}.test`);
  counted.requests += 1;
  counted.bytesUp += 300 + ofItem.int(0, 99);
  try {
    await context.sleep(dice.logBetween(1, 3000));
  } finally {
    leave?.();
  }
  if (!signal.aborted) counted.bytesDown += ofItem.int(1, 3000);
}

async function play(
  script: Exclude<Script, { kind: 'kills' | 'held' }>,
  context: ScrapeContext,
  process: SimProcess,
): Promise<ScrapeResult> {
  switch (script.kind) {
    case 'scraped':
      return scraped(context, process, script);
    case 'skipped':
      return { kind: 'skipped', reason: 'cached' };
    case 'throws':
      throw new Error('scripted: a bug of the scraper');
    case 'never-returns':
      return new Promise(() => {});
    case 'late':
      // It ignores the signal, and answers when the answer is no longer wanted.
      await process.clock.sleep(context.policy.timeouts.item_timeout_seconds * 1500);
      return scraped(context, process, { artifacts: 1, size: 10 });
    case 'failed': {
      if (context.tryNumber > script.triesBefore) return scraped(context, process, { artifacts: 1, size: 10 });
      const retryAfterMs = script.type === 'rate_limited' ? 500 : null;
      return {
        kind: 'failed',
        failure: failure(script.type, `scripted failure of ${context.itemId}`, { retryAfterMs, step: script.step }),
        ...(script.hasPage ? { artifacts: [artifactOf('html', textOf(context, process, 40))] } : {}),
      };
    }
  }
}

/** Rejects as the HTTP client does: for a gate that does not let the request in, or a 429 with Retry-After. */
async function askedToWait(context: ScrapeContext, { extraMs }: Script & { kind: 'held' }): Promise<ScrapeResult> {
  const { gate } = context.tools;
  const host = `${context.itemId}.example`;
  const waitMs = context.policy.timeouts.item_timeout_seconds * 1000 + extraMs;
  const limited = (ms: number): ScrapeResult => {
    return { kind: 'failed', failure: failure('rate_limited', 'scripted: later', { retryAfterMs: ms }) };
  };
  try {
    const leave = await gate.enter(host, 0, context.signal);
    leave();
  } catch (error) {
    if (error instanceof HostHeld) return limited(error.ms);
    throw error;
  }
  gate.noteTrouble(host);
  gate.hold(host, waitMs, 'scripted: later');
  return limited(waitMs);
}

const KINDS = ['data', 'html'] as const;

function scraped(
  context: ScrapeContext,
  process: SimProcess,
  { artifacts, size }: { artifacts: number; size: number },
): ScrapeResult {
  const text = textOf(context, process, size);
  return { kind: 'scraped', artifacts: KINDS.slice(0, artifacts).map((kind) => artifactOf(kind, text)) };
}

/** Two runs never see the same page: a worker that mixes up their bytes is found out. */
function textOf({ itemId }: ScrapeContext, process: SimProcess, size: number): string {
  return `${itemId} by ${process.clock.id()} `.padEnd(size, '.');
}

function artifactOf(kind: ProducedArtifact['kind'], text: string): ProducedArtifact {
  return { kind, bytes: new TextEncoder().encode(text), contentType: 'text/plain', extension: 'txt' };
}

/** A newer parse reads most pages, regardless of what the older one made of them. */
function read(dice: Dice, body: string): ScrapeResult {
  if (dice.happens(0.7)) return { kind: 'scraped', artifacts: [artifactOf('data', `read from ${body}`)] };
  return { kind: 'failed', failure: failure('structure_changed', 'scripted: nothing matches') };
}
