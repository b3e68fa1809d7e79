import type { z } from 'zod';
import { isRecord } from '../../domain/is-record.ts';
import type { Recording } from '../../domain/recording/recording.ts';
import { walkSteps } from '../../domain/recording/step-path.ts';
import type { StepPause } from '../../domain/recording/step-pause.ts';
import { type BrowserRules, type OpenedTab, openCompanion } from '../browser/browser-companion.ts';
import { BrowserIdentity } from '../browser/browser-identity.ts';
import { screenshotArtifact } from '../browser/browser-visit.ts';
import { CookieBridge } from '../browser/cookie-bridge.ts';
import type { Tab } from '../browser/tab.ts';
import type { WithInput } from '../define-scraper.ts';
import { exitsFor } from '../exit-for.ts';
import type { HttpClient } from '../http/http-client.ts';
import { clientOpener, type OpenClient } from '../http/open-client.ts';
import type { Evidence, ScrapeContext, ScrapeResult } from '../scraper.ts';
import { type SiteResult, visitSite } from '../visit-site.ts';
import { BrowserEngine } from './browser/browser-engine.ts';
import type { ActionEngine } from './engine.ts';
import { HttpEngine } from './http/http-engine.ts';
import { Interpreter } from './interpreter.ts';
import { KeptBytes } from './kept-bytes.ts';
import { isRecoverable, StepFailure } from './step-failure.ts';
import type { StepPictures } from './step-pictures.ts';
import { StepReport } from './step-report.ts';

/** An item that a recording is carried out for. */
export interface RecordedVisit {
  readonly recording: Recording;
  readonly rules: BrowserRules;
  readonly output: z.ZodType;
  readonly context: WithInput<ScrapeContext, z.ZodType>;
  /** Asked about a step that fails in a browser; null if nobody watches. */
  readonly pause: StepPause | null;
  readonly pictures: StepPictures;
}

/** How it went with one engine. */
export interface Ran {
  readonly engine: ActionEngine['kind'];
  readonly result: ScrapeResult;
  readonly report: StepReport;
  /** `4`, or `4.then.2`; null if no step failed. */
  readonly failedStep: string | null;
  /** What kept the step from being carried out without a browser; null if nothing did. */
  readonly needsBrowser: string | null;
}

export async function visitOverHttp(visit: RecordedVisit): Promise<Ran> {
  const { rules, output } = visit;
  return startingOver('http', visit, (run, context) =>
    visitSite(context, {
      ...{ parser: null, output, limits: rules.limits, items: null, open: clientOpener(rules) },
      scrape: ({ http }) => run.carryOut(new HttpEngine(http)),
    }),
  );
}

export async function visitInBrowser(visit: RecordedVisit): Promise<Ran> {
  const { recording, rules, output } = visit;
  const { viewport } = recording;
  return startingOver('browser', visit, async (run, context) => {
    const visitors = bridgedVisitors(rules);
    let sight: TabSight | null = null;
    const result = await visitSite<z.ZodType, undefined, OpenedTab>(context, {
      ...{ parser: null, output, limits: rules.limits, items: null, open: visitors.open },
      identity: (_, chosen) => new BrowserIdentity(chosen),
      accompany: ({ http, log }) =>
        openCompanion({
          ...{ rules, log, http, context, tools: context.tools, signal: context.signal, ...visitors.of(http) },
          exits: exitsFor(context),
          storage: null,
          suspect: `${context.jobId}/${context.itemId}`,
          job: context.jobId,
          sleep: (ms) => context.sleep(ms),
        }),
      scrape: async ({ tab }) => {
        if (viewport !== undefined) await tab.page.setViewportSize(viewport);
        const engine = new BrowserEngine({
          ...{ tab, watchesResponses: watchesResponses(recording) },
          now: () => context.now(),
          sleep: (ms) => context.sleep(ms),
        });
        try {
          return await run.carryOut(engine);
        } catch (error) {
          const { keep_failures: most } = context.policy.results;
          const isPictured = error instanceof StepFailure && visit.pictures.wants(context.jobId, error, most);
          if (engine.tab !== tab || isPictured) sight = await look(engine.tab);
          throw error;
        } finally {
          engine.end();
        }
      },
    });
    return sight === null ? result : withSight(result, sight, context);
  });
}

type Visit = (run: Run, context: RecordedVisit['context']) => Promise<ScrapeResult>;

/** Begins again as a new visitor, as often as the recording says, when a step fails for want of an element or a page. */
async function startingOver(engine: ActionEngine['kind'], visit: RecordedVisit, begin: Visit): Promise<Ran> {
  const { recording, context } = visit;
  for (let started = 0; ; started += 1) {
    const run = new Run(visit);
    const result = await begin(run, drafting(context, run.kept));
    const { failed, report } = run;
    const isLast = started >= recording.recovery.startOver || failed === null || !isRecoverable(failed);
    if (result.kind === 'failed' && !isLast && !context.signal.aborted) {
      await run.kept.clear();
      continue;
    }
    const isNamed = result.kind === 'failed' && failed !== null;
    return {
      engine,
      result,
      report,
      failedStep: isNamed ? failed.path : null,
      needsBrowser: isNamed ? failed.needsBrowser : null,
    };
  }
}

/** One way from the first step of a recording to its end. */
class Run {
  readonly report = new StepReport();
  readonly kept: KeptBytes;
  readonly #visit: RecordedVisit;
  /** The step that ended it; null if none did. */
  failed: StepFailure | null = null;

  constructor(visit: RecordedVisit) {
    this.#visit = visit;
    this.kept = new KeptBytes(() => visit.context.draft(), { copies: uploadsDocument(visit.recording) });
  }

  async carryOut(engine: ActionEngine): Promise<SiteResult<unknown> & { readonly screenshot: Uint8Array | null }> {
    const { recording, context } = this.#visit;
    const { kept, report } = this;
    const input = isRecord(context.input) ? context.input : {};
    const { allowsScripts } = context.tools;
    const pause = engine.kind === 'browser' ? this.#visit.pause : null;
    const deps = { recording, engine, input, kept, report, allowsScripts, pause, now: () => context.now() };
    try {
      const { data, page } = await new Interpreter(deps).run();
      const html = page ?? (await engine.page([], 'last'));
      return {
        html,
        data,
        document: kept.document,
        pages: Object.fromEntries(kept.pages),
        screenshot: kept.screenshot,
      };
    } catch (error) {
      if (error instanceof StepFailure) this.failed = error;
      throw error;
    }
  }
}

/** Documents go through what is kept of the item. Field by field: the worker's own object makes them when asked. */
function drafting(context: RecordedVisit['context'], kept: KeptBytes): RecordedVisit['context'] {
  const { jobId, jobCreatedAt, itemId, depth, tryNumber, identity, proxyType, proxySession, batch, usage } = context;
  const { input, policy, tools, signal, now, sleep, isRetried, waitUncounted } = context;
  return {
    ...{ jobId, jobCreatedAt, itemId, depth, tryNumber, identity, proxyType, proxySession, batch, usage },
    ...{ input, policy, tools, signal, now, sleep, isRetried, waitUncounted, draft: () => kept.draft() },
    withInput: (checked) => context.withInput(checked),
  };
}

/** HTTP clients that share the cookies of the browser beside them. */
function bridgedVisitors(rules: BrowserRules) {
  const ties = new WeakMap<HttpClient, { readonly bridge: CookieBridge; readonly identity: BrowserIdentity }>();
  const openClient = clientOpener(rules);
  const open: OpenClient = (who, context) => {
    const bridge = new CookieBridge(who.tools.web);
    const identity = who.identity instanceof BrowserIdentity ? who.identity : new BrowserIdentity(who.identity);
    const http = openClient({ ...who, identity, tools: { ...who.tools, web: bridge } }, context);
    ties.set(http, { bridge, identity });
    return http;
  };
  return {
    open,
    of(http: HttpClient) {
      const tied = ties.get(http);
      if (tied === undefined) throw new Error('an HTTP client that was not opened here');
      return tied;
    },
  };
}

interface TabSight {
  readonly url: string;
  readonly html: string;
  readonly picture: Uint8Array | null;
}

/** What a tab shows when a step in it has failed; the visit itself only knows its first tab, and takes no picture by itself. */
async function look(tab: Tab): Promise<TabSight | null> {
  try {
    const html = await tab.html();
    return { url: tab.page.url(), html, picture: await tab.screenshot().catch(() => null) };
  } catch {
    return null;
  }
}

function withSight(
  result: ScrapeResult,
  { url, html, picture }: TabSight,
  { policy }: Pick<ScrapeContext, 'policy'>,
): ScrapeResult {
  if (result.kind !== 'failed') return result;
  const { keep_failures, screenshot } = policy.results;
  const isPictured = picture !== null && screenshot !== 'never';
  const evidence: Evidence = {
    ...{ url, page: { kind: 'failed_page', bytes: Buffer.from(html) } },
    ...(picture !== null && !isPictured && { picture: screenshotArtifact(picture) }),
  };
  const others = (result.artifacts ?? []).filter(({ kind }) => kind !== 'screenshot');
  return {
    ...result,
    ...(keep_failures > 0 && { evidence }),
    ...(isPictured && { artifacts: [...others, screenshotArtifact(picture)] }),
  };
}

function watchesResponses(recording: Recording): boolean {
  for (const { step } of walkSteps(recording)) {
    if (step.type === 'waitForResponse' || (step.type === 'extractJson' && step.response !== undefined)) return true;
  }
  return false;
}

function uploadsDocument(recording: Recording): boolean {
  for (const { step } of walkSteps(recording)) {
    const files = step.type === 'upload' ? step.files : [];
    if (files.some((file) => file.from === 'artifact' && file.artifact === 'document')) return true;
  }
  return false;
}
