import {
  type DistributionStrategy,
  domainOf,
  type IdentifiedSession,
  itemsToSessions,
  type ScrapeRunItem,
} from './items-to-sessions.ts';

export interface WaveOptions {
  /** Number of sessions, at least one. */
  readonly sessions: number;
  readonly strategy: DistributionStrategy;
  /** Maximum per session and wave, at least one. */
  readonly maxItemsPerSession: number;
}

/**
 * Distributes more items than the sessions take at a time: each wave is what `itemsToSessions` assigns of the items that
 * are left, a list per session. Asking it for all of them again for each wave would take quadratic time.
 */
export function* sessionWaves(
  items: readonly ScrapeRunItem[],
  { sessions: count, strategy, maxItemsPerSession }: WaveOptions,
): Generator<readonly (readonly ScrapeRunItem[])[]> {
  const sessions = Array.from({ length: count }, (_, at): IdentifiedSession => ({ id: String(at) }));
  const room = count * maxItemsPerSession;
  const waves = strategy === 'domain-affinity' ? largestDomainsFirst(items, room) : inGivenOrder(items, room);
  for (const wave of waves) {
    yield itemsToSessions(wave, sessions, { strategy, maxItemsPerSession }).map(({ items: own }) => own);
  }
}

function* inGivenOrder(items: readonly ScrapeRunItem[], room: number): Generator<readonly ScrapeRunItem[]> {
  for (let at = 0; at < items.length; at += room) yield items.slice(at, at + room);
}

/** Items of a domain that are left. */
interface DomainLeft {
  /** Places in the list of all items. */
  readonly places: readonly number[];
  from: number;
}

/** A wave only divides the last domain it takes from; that one is put back where it belongs by what is left of it. */
function* largestDomainsFirst(items: readonly ScrapeRunItem[], room: number): Generator<readonly ScrapeRunItem[]> {
  const places = Map.groupBy(items.keys(), (at) => domainOf(items[at]?.url ?? ''));
  const left = Array.from(places.values(), (own): DomainLeft => ({ places: own, from: 0 })).sort(largerFirst);
  for (let first = 0; first < left.length; ) {
    const wave: ScrapeRunItem[] = [];
    for (let domain = left[first]; domain !== undefined && wave.length < room; domain = left[first]) {
      const until = Math.min(domain.places.length, domain.from + room - wave.length);
      for (const at of domain.places.slice(domain.from, until)) wave.push(items[at] as ScrapeRunItem);
      domain.from = until;
      first += 1;
      if (until === domain.places.length) continue;
      first -= 1;
      putBack(left, first);
      break;
    }
    yield wave;
  }
}

/** Moves the domain at `first` behind those that now have more left. */
function putBack(left: DomainLeft[], first: number): void {
  const domain = left[first] as DomainLeft;
  let low = first + 1;
  let high = left.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (largerFirst(left[middle] as DomainLeft, domain) < 0) low = middle + 1;
    else high = middle;
  }
  left.splice(low, 0, domain);
  left.splice(first, 1);
}

/** Of two domains with as many left, the one whose next item comes first. */
function largerFirst(one: DomainLeft, other: DomainLeft): number {
  const difference = other.places.length - other.from - (one.places.length - one.from);
  return difference || (one.places[one.from] ?? 0) - (other.places[other.from] ?? 0);
}
