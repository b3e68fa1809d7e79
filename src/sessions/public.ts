/** What programs import as `trawl/sessions`. Anything not exported here may change without notice. */
export {
  type DistributionOptions,
  type DistributionResult,
  type DistributionStrategy,
  itemsToSessions,
  type ScrapeRunItem,
} from '../domain/items-to-sessions.ts';
export { type Session, SessionManager, type SessionManagerOptions, type SessionStats } from './session-manager.ts';
