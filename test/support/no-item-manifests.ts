import type { FinisherDeps } from '../../src/controller/engine/finisher.ts';

/** For tests that are not about them. */
export const NO_ITEM_MANIFESTS: FinisherDeps['itemManifests'] = { fill: async () => true };
