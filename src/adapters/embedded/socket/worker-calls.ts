import type { Lane } from '../../../domain/lane.ts';
import type { Room } from '../../../domain/slot-share.ts';
import type { WorkerHostPauses } from '../../../ports/host-pauses.ts';
import type { WorkerHostRecords } from '../../../ports/host-records.ts';
import type { WorkerHostSettings } from '../../../ports/host-settings.ts';
import type { HostShares } from '../../../ports/host-shares.ts';
import type { WorkerItemWaits } from '../../../ports/item-waits.ts';
import type { WorkerRecordings } from '../../../ports/kept-recordings.ts';
import type { WorkerLeases } from '../../../ports/ledger.ts';
import type { WorkerSiteData } from '../../../ports/site-data.ts';
import type { WorkerStepRecords } from '../../../ports/step-records.ts';
import type { WorkerQueue } from '../../../ports/work-queue.ts';
import type { Taken } from '../../../ports/work-source.ts';
import {
  controlReport,
  itemWaits,
  lane,
  name,
  names,
  pauseReport,
  releaseCause,
  room,
  settleParts,
  time,
  usage,
  whole,
} from './call-arguments.ts';
import { lineAsks } from './line-asks.ts';
import { receivedReports, reportList } from './sent-reports.ts';
import { receivedSteps, stepsList } from './sent-steps.ts';
import { pageKeys, pageNews, pagePaths, pathNews, turnWish } from './site-arguments.ts';

/**
 * A worker has one `main` connection, and lives as long as that one. The other belongs to its heartbeat, which
 * continues while the main thread is busy, and can only extend what the worker has.
 */
export type Role = 'main' | 'heartbeat';

/** What calls are carried out with, at the owner's end of one worker's connection. */
export interface CallContext {
  /** The name that the worker gave when it connected. */
  readonly worker: string;
  readonly ledger: Omit<WorkerLeases, 'claim'>;
  readonly queue: Pick<WorkerQueue, 'ack' | 'extend'>;
  readonly hostPauses: WorkerHostPauses;
  readonly hostSettings: WorkerHostSettings;
  readonly hostShares: HostShares;
  readonly hostRecords: WorkerHostRecords;
  readonly stepRecords: WorkerStepRecords;
  readonly itemWaits: WorkerItemWaits;
  readonly siteData: WorkerSiteData;
  readonly recordings: WorkerRecordings;
  /** Waits, and is known by the id of its call while it does. */
  take(id: number, lane: Lane, room: Room, leaseMs: number): Promise<readonly Taken[]>;
  /** The worker is done with these deliveries. */
  finish(receipts: readonly string[]): readonly string[];
}

type Check = (value: unknown) => unknown;
type Checked<Checks extends readonly Check[]> = { -readonly [At in keyof Checks]: ReturnType<Checks[At]> };

interface Call<Args extends readonly unknown[], Answer> {
  readonly roles: readonly Role[];
  /** Throws BadCall unless the arguments are what its checks say. */
  carryOut(context: CallContext, args: readonly unknown[], id: number): Promise<Answer>;
  /** Only for the types of the client. */
  readonly args?: Args;
}

function call<const Checks extends readonly Check[], Answer>(
  checks: Checks,
  handle: (context: CallContext, args: Checked<Checks>, id: number) => Promise<Answer>,
  roles: readonly Role[] = ['main'],
): Call<Checked<Checks>, Answer> {
  const checked = (args: readonly unknown[]) => checks.map((check, at) => check(args[at])) as Checked<Checks>;
  return { roles, carryOut: (context, args, id) => handle(context, checked(args), id) };
}

const BOTH: readonly Role[] = ['main', 'heartbeat'];

/** Every call that a worker makes: the checks of its arguments, what the owner does, and which role may make it. */
const CALLS = {
  take: call([lane, room, time], (context, args, id) => context.take(id, ...args)),
  extend: call([names, time], ({ queue }, args) => queue.extend(...args), BOTH),
  ack: call([names], ({ queue, finish }, [receipts]) => queue.ack(finish(receipts))),
  workOrder: call([name], ({ ledger }, args) => ledger.workOrder(...args)),
  begin: call([name, whole], ({ ledger }, args) => ledger.begin(...args)),
  renew: call([names, time], ({ ledger }, args) => ledger.renew(...args), BOTH),
  settle: call([settleParts, time], ({ ledger }, args) => ledger.settle(...args)),
  reportControl: call([name, controlReport, time], ({ ledger }, args) => ledger.reportControl(...args)),
  release: call([name, releaseCause, time, usage], ({ ledger }, args) => ledger.release(...args)),
  pauseHost: call([pauseReport, time], ({ hostPauses, worker }, [report, now]) =>
    hostPauses.pause(report, worker, now),
  ),
  addWaits: call([itemWaits, time], (context, [waits, now]) => context.itemWaits.add(waits, context.worker, now)),
  hostPauses: call([time], ({ hostPauses }, args) => hostPauses.inForce(...args)),
  hostSettings: call([], ({ hostSettings }) => hostSettings.list()),
  reserve: call([lineAsks, time], ({ hostShares, worker }, [asks, now]) => hostShares.reserve(worker, asks, now)),
  reportSeen: call([reportList], async ({ hostRecords }, [reports]) => hostRecords.report(receivedReports(reports))),
  reportSteps: call([stepsList], async ({ stepRecords }, [reports]) => stepRecords.report(receivedSteps(reports))),
  site: call([name], ({ siteData }, args) => siteData.sites.get(...args)),
  cachedPages: call([pageKeys], ({ siteData }, args) => siteData.pages.look(...args)),
  notePages: call([pageNews], ({ siteData }, args) => siteData.pages.note(...args)),
  pathErrors: call([pagePaths], ({ siteData }, args) => siteData.errors.look(...args)),
  notePaths: call([pathNews], ({ siteData }, args) => siteData.errors.note(...args)),
  takeTurn: call([turnWish], ({ siteData }, args) => siteData.turns.take(...args)),
  recording: call([name], ({ recordings }, args) => recordings.get(...args)),
} as const;

export type Method = keyof typeof CALLS;

/** Calls that a worker may make without waiting for an answer, and without getting one. */
export const UNANSWERED: ReadonlySet<unknown> = new Set<Method>(['notePages']);

type CallOf<M extends Method> = (typeof CALLS)[M];
export type CallArguments<M extends Method> = CallOf<M> extends Call<infer Args, unknown> ? Args : never;
export type CallAnswer<M extends Method> = Awaited<ReturnType<CallOf<M>['carryOut']>>;

/** The call of that name, if there is one that this role may make. */
export function findCall(method: unknown, role: Role): Call<readonly unknown[], unknown> | null {
  if (typeof method !== 'string' || !Object.hasOwn(CALLS, method)) return null;
  const found = CALLS[method as Method] as Call<readonly unknown[], unknown>;
  return found.roles.includes(role) ? found : null;
}
