import { canonicalJson } from '../domain/canonical-json.ts';
import {
  type ControlReport,
  type ControlSeen,
  type FieldDigests,
  MAX_CONTROL_FIELDS,
  MAX_CONTROL_TEXT,
} from '../domain/control-state.ts';
import { errorMessage } from '../domain/error-message.ts';
import { isRecord } from '../domain/is-record.ts';
import { controlItem } from '../domain/job-controls.ts';
import type { ControlItem, Policy } from '../domain/policy.ts';
import type { WorkOrder } from '../domain/work-order.ts';
import type { HostGate } from '../ports/host-gate.ts';
import type { Lease } from '../ports/ledger.ts';
import type { Draft } from '../ports/result-store.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import { BatchScope } from '../scraping/batch-scope.ts';
import type { ProducedArtifact, ScrapeResult } from '../scraping/scraper.ts';
import { UsageMeter } from '../scraping/usage-meter.ts';
import type { AttemptDeps } from './attempt.ts';
import type { BatchDeps } from './batch.ts';
import { type FindScraperDeps, findScraper } from './find-scraper.ts';
import { maskResult } from './mask-result.ts';
import type { Place } from './slots.ts';
import { tryUntilDecided } from './tries.ts';

export interface ControlDeps extends AttemptDeps, FindScraperDeps {
  readonly latestOrder: BatchDeps['latestOrder'];
  readonly gateOf: BatchDeps['gateOf'];
}

/**
 * Tries a control item like any other, with the same retries and through the same exit, and stores nothing of it. Null
 * if there is nothing to report: the job is stopped or gone, or the worker is stopping.
 */
export async function tryControl(
  deps: ControlDeps,
  lease: Lease,
  place: Place,
  signal: AbortSignal,
): Promise<ControlReport | null> {
  const { control: number = 0, ref } = lease;
  const order = await deps.latestOrder(lease, deps.clock.elapsed());
  const item = order === null ? undefined : controlItem(order.policy, number);
  if (order === null || order.isHalted || item === undefined) return null;
  const startedAt = deps.clock.now();
  const meter = new UsageMeter();
  const gate = () => deps.gateOf(ref.jobId, place);
  const result = await scrape({ ...deps, meter, gate }, { jobId: ref.jobId, number }, order, item, signal);
  if (result === 'aborted') return null;
  const input = deps.tools.secrets.mask(JSON.stringify(item.input)).slice(0, MAX_CONTROL_TEXT);
  const key = shortDigest(deps, canonicalJson(item.input));
  return { number, key, input, startedAt, seen: describe(deps, order.policy, item, result), usage: meter.read() };
}

async function scrape(
  deps: ControlDeps & { readonly meter: UsageMeter; readonly gate: () => HostGate },
  { jobId, number }: { readonly jobId: string; readonly number: number },
  order: WorkOrder,
  { input }: ControlItem,
  signal: AbortSignal,
): Promise<ScrapeResult | HeldControl | 'aborted'> {
  const scraper = await findScraper(deps, order);
  if ('unusable' in scraper) return failed(scraper.unusable);
  const drafts: Draft[] = [];
  const job = { jobId, order, scraper };
  const batch = new BatchScope();
  try {
    const item = { itemId: `control-${number}`, input };
    const tryDeps = { ...deps, batch, onFailedTry: () => {} };
    const { result } = await tryUntilDecided(tryDeps, job, item, drafts, signal);
    if (result === 'aborted') return result;
    if (result.kind === 'held') return { kind: 'held', ...result.held };
    return maskResult(result, deps.tools.secrets);
  } catch (error) {
    if (error instanceof StorageTrouble) throw error;
    return failed(errorMessage(error));
  } finally {
    for (const draft of drafts) await draft.discard();
    await batch.end();
  }
}

type HeldControl = Extract<ControlSeen, { kind: 'held' }>;

function failed(message: string): ScrapeResult {
  return { kind: 'failed', failure: { type: 'unexpected', message, cause: null, retryAfterMs: null } };
}

function describe(
  deps: ControlDeps,
  policy: Policy,
  item: ControlItem,
  result: ScrapeResult | HeldControl,
): ControlSeen {
  switch (result.kind) {
    case 'held':
      return result;
    case 'skipped':
      return { kind: 'skipped', reason: result.reason };
    case 'failed': {
      const { type, message } = result.failure;
      return { kind: 'failed', type, message: message.slice(0, MAX_CONTROL_TEXT) };
    }
    case 'scraped': {
      const data = readData(result.artifacts);
      if (item.expect !== undefined) return { kind: 'data', digests: {}, wrong: describeWrong(item.expect, data) };
      return { kind: 'data', digests: fieldDigests(deps, data, policy.controls.ignore), wrong: null };
    }
  }
}

/** The data of the item; for a scraper without data, only the existence of its pages counts. */
function readData(artifacts: readonly ProducedArtifact[]): Readonly<Record<string, unknown>> {
  const bytes = artifacts.find(({ kind }) => kind === 'data')?.bytes;
  if (!(bytes instanceof Uint8Array)) return {};
  const data: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  return isRecord(data) ? data : { data };
}

/** The expected fields that have another value, in words; empty if all are as expected. */
function describeWrong(expected: Readonly<Record<string, unknown>>, data: Readonly<Record<string, unknown>>): string {
  const wrong = Object.entries(expected).filter(([name, value]) => canonicalJson(data[name]) !== canonicalJson(value));
  const texts = wrong.map(([name, value]) => `${name} ${shown(data[name])} instead of ${shown(value)}`);
  return texts.join(', ').slice(0, MAX_CONTROL_TEXT);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, MAX_SHOWN);
}

const MAX_SHOWN = 80;

function fieldDigests(
  deps: ControlDeps,
  data: Readonly<Record<string, unknown>>,
  ignored: readonly string[],
): FieldDigests {
  const names = Object.keys(data)
    .filter((name) => !ignored.includes(name))
    .sort();
  const single = names.slice(0, MAX_CONTROL_FIELDS).map((name) => [name, shortDigest(deps, canonicalJson(data[name]))]);
  const rest = names.slice(MAX_CONTROL_FIELDS).map((name) => [name, data[name]]);
  const others = rest.length === 0 ? [] : [[OTHER_FIELDS, shortDigest(deps, canonicalJson(rest))]];
  return Object.fromEntries([...single, ...others]);
}

const OTHER_FIELDS = '(other fields)';

/** Twelve characters distinguish values well enough, and there may be hundreds of them in a job's row. */
function shortDigest({ digest }: ControlDeps, text: string): string {
  return digest(text).slice(0, 12);
}
