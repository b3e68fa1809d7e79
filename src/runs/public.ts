/** The types of `trawl/runs`; what opens things is in `src/main/public-runs.ts`. */
export { itemsToSessions } from '../domain/items-to-sessions.ts';
export type {
  CreateScrapeRunRequest,
  CreateScrapeRunResponse,
  DistributionOptions,
  DistributionResult,
  DistributionStrategy,
  FinalizeScrapeRunRequest,
  ItemStats,
  ListScrapeRunsResponse,
  ScrapeRun,
  ScrapeRunItem,
  ScrapeRunMetadata,
  Session,
  SessionManagerOptions,
  SessionStats,
  UpdateScrapeRunItemRequest,
} from './types.ts';
