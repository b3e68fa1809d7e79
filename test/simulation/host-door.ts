import type { HostAnswer } from '../../src/domain/host-outage.ts';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import type { HostOracle } from './oracle/hosts.ts';
import { sharesFor } from './shares-port.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

/** Where a worker's scrapers enter the host. */
export interface Door {
  /** Resolves when the host may be visited, to a function that leaves it. Rejects when the signal aborts first. */
  enter(jobId: string, signal: AbortSignal): Promise<() => void>;
}

/** Null where there is none. It is the real gate, which reserves through a network that loses, delays and doubles its calls. */
export function openDoor(process: SimProcess, sim: Sim, onError: (where: string, error: unknown) => void): Door | null {
  const { sharedHost: host, hostOracle: oracle } = sim;
  const answer = () => sim.temperedHost?.answer(sim.timeline.now) ?? null;
  if (host === null || oracle === null) return null;
  const shares = sharesFor(process, sim, oracle);
  const gate = new PoliteHostGate({
    clock: process.clock,
    hosts: { [host.name]: host.limits },
    shared: { shares, process: process.name, leaseMs: host.leaseMs, onError },
  });
  oracle.opened(process, () => gate.pauseOf(host.name) !== null);
  process.onEnd(() => {
    gate.close();
    oracle.ended(process);
  });
  return { enter: (jobId, signal) => enter(gate, host.name, { process, oracle, answer }, jobId, signal) };
}

async function enter(
  gate: PoliteHostGate,
  host: string,
  { process, oracle, answer }: Visitors,
  jobId: string,
  signal: AbortSignal,
): Promise<() => void> {
  oracle.waits(process);
  let leave: () => void;
  try {
    leave = await gate.enter(host, Number.POSITIVE_INFINITY, signal, jobId);
  } catch (error) {
    oracle.givesUp(process);
    throw error;
  }
  oracle.enters(process);
  const said = answer();
  return () => {
    oracle.leaves(process);
    leave();
    if (said !== null) gate.noteAnswer(host, said, 'as the host is');
  };
}

interface Visitors {
  readonly process: SimProcess;
  readonly oracle: HostOracle;
  /** What the host says to a request that arrives now; null for nothing that matters. */
  readonly answer: () => HostAnswer | null;
}
