import type { LineShare } from '../../src/domain/line-book.ts';
import type { HostShares, NamedAsk } from '../../src/ports/host-shares.ts';
import type { HostOracle } from './oracle/hosts.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

/** An answer that takes longer is too late for what it renews. */
const IN_TIME_MS = 200;

/** The shares of hosts as one process sees them: reservations and their answers get lost, late and repeated. */
export function sharesFor(process: SimProcess, sim: Sim, oracle: HostOracle): HostShares {
  const { backend, network, timeline, disk } = sim;
  return {
    async reserve(name, asks, now) {
      const askedAt = timeline.now;
      try {
        const shares = await network.call(process, {
          name: 'reserve',
          said: showAsks(asks),
          callee: backend,
          trouble: () => disk.ledgerTrouble(),
          run: async () => {
            try {
              return await backend.during(() => backend.shares.reserve(name, asks, now));
            } catch (error) {
              oracle.unsure(process);
              throw error;
            }
          },
          applied: (answer) => {
            for (const [at, share] of answer.entries()) {
              const ask = asks[at];
              if (ask !== undefined) oracle.reserved(process, ask, share, now);
            }
          },
          show: showShares,
        });
        if (timeline.now - askedAt > IN_TIME_MS) oracle.disturbed(process);
        return shares;
      } catch (error) {
        oracle.disturbed(process);
        throw error;
      }
    },
  };
}

function showAsks(asks: readonly NamedAsk[]): string {
  return asks.map(({ line, inside, demands }) => `${line} (${inside} inside, ${demands.length} jobs)`).join(', ');
}

function showShares(shares: readonly LineShare[]): string {
  const rounded = (slots: readonly number[]) => slots.map((slot) => Math.round(slot)).join('+');
  return shares
    .map(({ places, slots, heldMs }) => `${places} places, slots ${rounded(slots)}, for ${heldMs}`)
    .join('; ');
}
