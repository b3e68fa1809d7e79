/** Assigns items to browser sessions. Finished items are left out, and no item is given to two sessions. */

/** An item of a scrape run, as the ETL API has it. */
export interface ScrapeRunItem {
  url: string;
  done: boolean;
  failed?: boolean;
  invalid?: boolean;
  failedReason?: string | null;
}

export type DistributionStrategy = 'round-robin' | 'domain-affinity' | 'least-loaded';

export interface DistributionOptions {
  /** Defaults to `round-robin`. */
  strategy?: DistributionStrategy;
  /** Items beyond this are given to no session, and stay pending. */
  maxItemsPerSession?: number;
  /** These come first, in this order. */
  prioritizeDomains?: string[];
  /** Items that sessions are already working on, by session id: `currentLoad` of its stats. For `least-loaded`. */
  loads?: Readonly<Record<string, number>>;
}

/** Providers put the id of a session in different places. */
export interface IdentifiedSession {
  readonly id?: string;
  readonly local?: { readonly id: string };
  readonly browserbase?: { readonly id: string };
}

export interface DistributionResult<Session = IdentifiedSession> {
  session: Session;
  items: ScrapeRunItem[];
}

/** One result per session, in the order of the sessions; its list may be empty. */
export function itemsToSessions<Session extends IdentifiedSession>(
  items: readonly ScrapeRunItem[],
  sessions: readonly Session[],
  { strategy = 'round-robin', maxItemsPerSession, prioritizeDomains = [], loads = {} }: DistributionOptions = {},
): DistributionResult<Session>[] {
  const room = Math.max(0, Math.floor(maxItemsPerSession ?? Number.POSITIVE_INFINITY));
  const results = sessions.map((session): DistributionResult<Session> => ({ session, items: [] }));
  const priorities = new Map(prioritizeDomains.map((name, at) => [domainName(name.toLowerCase()), at]));
  const pending = inOrder(
    items.filter(({ done }) => done !== true),
    priorities,
  );
  if (results.length > 0) STRATEGIES[strategy]({ pending, results, room, priorities, loads });
  return results;
}

interface Distribution {
  /** In the order in which they are assigned. */
  readonly pending: readonly ScrapeRunItem[];
  /** At least one. */
  readonly results: readonly DistributionResult[];
  /** Maximum number of items per session. */
  readonly room: number;
  readonly priorities: ReadonlyMap<string, number>;
  readonly loads: Readonly<Record<string, number>>;
}

const STRATEGIES: Readonly<Record<DistributionStrategy, (distribution: Distribution) => void>> = {
  'round-robin'({ pending, results, room }) {
    // All have the same room, so all are full at the same time.
    for (const [at, item] of pending.slice(0, room * results.length).entries()) {
      results[at % results.length]?.items.push(item);
    }
  },

  /** The largest domain first, each to the session with the fewest items: then the rest fits best. */
  'domain-affinity'({ pending, results, room, priorities }) {
    const groups = [...Map.groupBy(pending, ({ url }) => domainOf(url))]
      .map(([domain, items]) => ({ items, priority: priorities.get(domain) ?? priorities.size }))
      .sort((a, b) => a.priority - b.priority || b.items.length - a.items.length);
    for (const { items } of groups) {
      for (let given = 0; given < items.length; ) {
        const { items: least } = emptiest(results, (result) => result.items.length);
        const more = items.slice(given, given + room - least.length);
        // Not in one call with all items as arguments: there may be a million.
        for (const item of more) least.push(item);
        if (more.length === 0) return;
        given += more.length;
      }
    }
  },

  'least-loaded'({ pending, results, room, loads }) {
    const load = (result: DistributionResult) =>
      result.items.length < room ? loadOf(result.session, loads) + result.items.length : Number.POSITIVE_INFINITY;
    for (const item of pending.slice(0, room * results.length)) emptiest(results, load).items.push(item);
  },
};

/** The first of those with the fewest items. */
function emptiest(
  results: readonly DistributionResult[],
  measure: (result: DistributionResult) => number,
): DistributionResult {
  return results.reduce((least, result) => (measure(result) < measure(least) ? result : least));
}

function loadOf(session: IdentifiedSession, loads: Readonly<Record<string, number>>): number {
  const id = sessionId(session);
  return id !== null && Object.hasOwn(loads, id) ? (loads[id] ?? 0) : 0;
}

function sessionId({ id, local, browserbase }: IdentifiedSession): string | null {
  return id ?? local?.id ?? browserbase?.id ?? null;
}

function inOrder(items: readonly ScrapeRunItem[], priorities: ReadonlyMap<string, number>): readonly ScrapeRunItem[] {
  if (priorities.size === 0) return items;
  const priority = ({ url }: ScrapeRunItem) => priorities.get(domainOf(url)) ?? priorities.size;
  return items
    .map((item) => ({ item, at: priority(item) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** The host without `www.`. Text that is not an address is its own domain. */
export function domainOf(url: string): string {
  return domainName(URL.parse(url)?.hostname ?? url);
}

function domainName(host: string): string {
  return host.replace(/^www\./, '');
}
