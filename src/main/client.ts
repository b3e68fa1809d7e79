/** What client commands need besides the contract. They start nothing here, so they must not load the engine. */
export { systemClock } from '../adapters/system/clock.ts';
