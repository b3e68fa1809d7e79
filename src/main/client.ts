/**
 * What client commands need: they talk to the API and start nothing here, so they load nothing of an engine.
 */
export { systemClock } from '../adapters/system/clock.ts';
export { formatOfName } from '../controller/intake/read-items.ts';
export type { Clock } from '../ports/clock.ts';
