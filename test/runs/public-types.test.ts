import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type CreateScrapeRunRequest,
  type CreateScrapeRunResponse,
  type DistributionOptions,
  type DistributionResult,
  type DistributionStrategy,
  type FinalizeScrapeRunRequest,
  type ItemStats,
  itemsToSessions,
  type ListScrapeRunsResponse,
  type ScrapeRun,
  type ScrapeRunItem,
  type ScrapeRunMetadata,
  type Session,
  type SessionManagerOptions,
  type SessionStats,
  type UpdateScrapeRunItemRequest,
} from 'trawl/runs';

/** The types that users wrote their programs against, field by field. */
interface Expected {
  item: { url: string; done: boolean; failed?: boolean; invalid?: boolean; failedReason?: string | null };
  run: {
    _id: string;
    domain: string;
    startTime: string;
    endTime: string | null;
    items: ScrapeRunItem[];
    createdAt: string;
    updatedAt: string;
  };
  metadata: {
    started_at?: string;
    finished_at?: string | null;
    finished_count?: number;
    total_count?: number;
    failed_count?: number;
  };
  created: Expected['run'] & {
    id?: string;
    source?: string;
    status?: string;
    metadata?: ScrapeRunMetadata;
    created_at?: string;
  };
  list: {
    data: ScrapeRun[];
    pagination: { currentPage: number; totalPages: number; totalItems: number; limit: number };
  };
  create: { domain: string; source?: string; metadata?: { started_at: string }; items?: Array<{ url: string }> };
  update: {
    updateItem: {
      url: string;
      changes: { done?: boolean; failed?: boolean; invalid?: boolean; failedReason?: string | null };
    };
  };
  finalize: { status: 'finished'; endTime: string; metadata?: ScrapeRunMetadata };
  result: { session: Session; items: ScrapeRunItem[] };
  sessionStats: { sessionId: string; itemsProcessed: number; errors: number; uptime: number; currentLoad: number };
  itemStats: { total: number; pending: number; completed: number; failed: number; byDomain: Record<string, number> };
  strategy: 'round-robin' | 'domain-affinity' | 'least-loaded';
  /** This leaves out `loads`, which is ours: the strategy `least-loaded` needs it. */
  options: { strategy?: DistributionStrategy; maxItemsPerSession?: number; prioritizeDomains?: string[] };
  managerOptions: { maxSessions?: number; sessionTimeout?: number; provider?: 'browserbase' | 'local' };
}

/** Resolves intersections and interfaces to their fields, at every level. */
type Fields<T> = T extends object ? { [Name in keyof T]: Fields<T[Name]> } : T;
type Same<A, B> = (<T>() => T extends Fields<A> ? 1 : 2) extends <T>() => T extends Fields<B> ? 1 : 2 ? true : false;

/** A line does not compile if a field, its type or its optionality differs. */
const SAME: readonly true[] = [
  true satisfies Same<ScrapeRunItem, Expected['item']>,
  true satisfies Same<ScrapeRun, Expected['run']>,
  true satisfies Same<ScrapeRunMetadata, Expected['metadata']>,
  true satisfies Same<CreateScrapeRunResponse, Expected['created']>,
  true satisfies Same<ListScrapeRunsResponse, Expected['list']>,
  true satisfies Same<CreateScrapeRunRequest, Expected['create']>,
  true satisfies Same<UpdateScrapeRunItemRequest, Expected['update']>,
  true satisfies Same<FinalizeScrapeRunRequest, Expected['finalize']>,
  true satisfies Same<keyof DistributionResult, keyof Expected['result']>,
  true satisfies Same<DistributionResult['items'], Expected['result']['items']>,
  true satisfies Same<DistributionResult['session']['provider'], Session['provider']>,
  true satisfies Same<SessionStats, Expected['sessionStats']>,
  true satisfies Same<ItemStats, Expected['itemStats']>,
  true satisfies Same<DistributionStrategy, Expected['strategy']>,
  true satisfies Same<Omit<DistributionOptions, 'loads'>, Expected['options']>,
  true satisfies Same<SessionManagerOptions, Expected['managerOptions']>,
];

/** The check itself: these do not compile if it accepts everything. */
const DIFFERENT: readonly false[] = [
  false satisfies Same<ScrapeRunItem, Omit<Expected['item'], 'failed'>>,
  false satisfies Same<ScrapeRunItem, Required<Expected['item']>>,
  false satisfies Same<ScrapeRun, Expected['run'] & { endTime: string }>,
];

test('the types of scrape runs have exactly the fields that users know', () => {
  assert.ok(SAME.length > 0 && DIFFERENT.length > 0);
  const items: ScrapeRunItem[] = [{ url: 'https://a.example/1', done: false }];
  assert.deepEqual(itemsToSessions(items, [{ id: 'one' }]), [{ session: { id: 'one' }, items }]);
});
