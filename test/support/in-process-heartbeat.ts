import { type BeatDeps, beatOnce, beatUntilStopped, type Heartbeat } from '../../src/worker/heartbeat.ts';
import type { Held } from '../../src/worker/lease-table.ts';

/** A heartbeat in the same thread, and so only as punctual as that. */
export function inProcessHeartbeat(parts: BeatDeps & { readonly onTrouble: (error: unknown) => void }): Heartbeat {
  const held = new Map<number, Held>();
  const listeners: ((token: string) => void)[] = [];
  const stop = new AbortController();
  const running = beatUntilStopped(
    {
      ...parts,
      beat: () => beatOnce([...held.values()], parts),
      onLost(tokens) {
        const lost = new Set(tokens);
        for (const { token } of held.values()) if (lost.has(token)) for (const tell of listeners) tell(token);
      },
      onSilence() {},
    },
    stop.signal,
  );
  return {
    hold: (slot, what) => void held.set(slot, what),
    drop: (slot) => void held.delete(slot),
    onLost: (listener) => void listeners.push(listener),
    async stop() {
      stop.abort();
      await running;
    },
  };
}
