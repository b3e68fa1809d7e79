import type { FinisherParts } from '../../src/controller/engine/finisher.ts';

/** For tests that are not about them. */
export const NO_ITEM_MANIFESTS: FinisherParts['itemManifests'] = { fill: async () => true };
