import type {
  DistributionResult as Distributed,
  IdentifiedSession,
  ScrapeRunItem,
} from '../domain/items-to-sessions.ts';
import type { Session } from '../sessions/session-manager.ts';

/** Scrape runs as the ETL API represents them. Whatever a server calls its fields, these are the names inside Trawl. */

export type { DistributionOptions, DistributionStrategy, ScrapeRunItem } from '../domain/items-to-sessions.ts';
export type { Session, SessionStats } from '../sessions/session-manager.ts';

/** What one session is to work on. */
export type DistributionResult<Of extends IdentifiedSession = Session> = Distributed<Of>;

export interface ScrapeRun {
  _id: string;
  domain: string;
  startTime: string;
  endTime: string | null;
  items: ScrapeRunItem[];
  createdAt: string;
  updatedAt: string;
}

export interface ScrapeRunMetadata {
  started_at?: string;
  finished_at?: string | null;
  finished_count?: number;
  total_count?: number;
  failed_count?: number;
}

export interface CreateScrapeRunRequest {
  domain: string;
  /** `manual` or `scheduled`, for instance. */
  source?: string;
  metadata?: { started_at: string };
  items?: Array<{ url: string }>;
}

export interface CreateScrapeRunResponse extends ScrapeRun {
  id?: string;
  source?: string;
  /** pending, processing, completed, failed or finished. */
  status?: string;
  metadata?: ScrapeRunMetadata;
  created_at?: string;
}

export interface ListScrapeRunsResponse {
  data: ScrapeRun[];
  pagination: { currentPage: number; totalPages: number; totalItems: number; limit: number };
}

/** With everything that is known of each run. */
export interface ListedScrapeRuns extends ListScrapeRunsResponse {
  data: CreateScrapeRunResponse[];
}

export interface ItemChanges {
  done?: boolean;
  failed?: boolean;
  invalid?: boolean;
  failedReason?: string | null;
}

export interface UpdateScrapeRunItemRequest {
  updateItem: { url: string; changes: ItemChanges };
}

export interface FinalizeScrapeRunRequest {
  status: 'finished';
  endTime: string;
  metadata?: ScrapeRunMetadata;
}

export interface ItemStats {
  total: number;
  pending: number;
  completed: number;
  failed: number;
  byDomain: Record<string, number>;
}

/** How many browser sessions there may be, and where they come from. */
export interface SessionManagerOptions {
  maxSessions?: number;
  /** Milliseconds without an item, after which a session is closed. */
  sessionTimeout?: number;
  provider?: 'browserbase' | 'local';
}
