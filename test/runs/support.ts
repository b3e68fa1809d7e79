import { EtlClient } from '../../src/runs/etl/etl-client.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** A client with a clock that moves on by itself: waits take no time, and are listed. */
export function openClient(endpoint: string) {
  const clock = new WaitingClock();
  const warnings: string[] = [];
  const log = { warn: (_fields: object, message: string) => void warnings.push(message) };
  return { etl: new EtlClient({ endpoint, apiKey: 'etl-secret', clock, log }), clock, waits: clock.waits, warnings };
}

/** Deadlines, which run alongside the network, do not count as its waits. */
class WaitingClock extends FakeClock {
  readonly waits: number[] = [];

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal !== undefined) return super.sleep(ms, signal);
    this.waits.push(ms);
    return Promise.resolve();
  }
}
