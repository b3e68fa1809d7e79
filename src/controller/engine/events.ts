import type { LedgerChange } from '../../ports/ledger.ts';

/**
 * The one stream of everything that happens in the engine. Logs, progress, the event API and tests all listen here;
 * nothing in the engine depends on having listeners.
 */
export type EngineEvent =
  | LedgerChange
  | { readonly kind: 'leading'; readonly holder: string }
  | { readonly kind: 'following'; readonly holder: string }
  | { readonly kind: 'sent'; readonly batches: number; readonly refused: number }
  | { readonly kind: 'reaped'; readonly leases: number; readonly queued: number }
  /** Batches whose message was delivered repeatedly but never claimed: they count as lost by a worker. */
  | { readonly kind: 'dead-letters'; readonly batches: number }
  | { readonly kind: 'manifest-written'; readonly jobId: string; readonly parts: number }
  /** The job is deleted with all its results: its id is free. */
  | { readonly kind: 'job-removed'; readonly jobId: string }
  | { readonly kind: 'worker-joined'; readonly worker: string }
  | { readonly kind: 'worker-left'; readonly worker: string; readonly reason: string; readonly abandoned: number }
  | { readonly kind: 'connection-trouble'; readonly worker: string | null; readonly reason: string }
  | { readonly kind: 'storage-trouble'; readonly message: string }
  | { readonly kind: 'storage-recovered' }
  /** An unexpected exception. The engine continues and tries again; an operator should look at it. */
  | { readonly kind: 'engine-error'; readonly where: string; readonly error: unknown };

export class EventStream {
  readonly #listeners = new Set<(event: EngineEvent) => void>();

  publish(event: EngineEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        // A broken listener must neither stop the engine nor hide the event from the others.
        if (event.kind !== 'engine-error') this.publish({ kind: 'engine-error', where: 'event listener', error });
      }
    }
  }

  subscribe(listener: (event: EngineEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
