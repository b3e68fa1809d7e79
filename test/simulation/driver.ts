/**
 * Runs a world step by step. After each step everything that follows from it must have happened before the next one:
 * the engine waits for promises only, and Node empties the queue of promise reactions between two immediates. So each
 * step is an immediate of its own; a whole row of them is armed at once, because a turn of the event loop costs four
 * times what an immediate does.
 */
export interface Steps {
  /** Does one step; false when the world has ended. Must not throw. */
  step(): boolean;
}

const ROW = 64;

export function runSteps(world: Steps): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isOver = false;
  const step = () => {
    if (isOver) return;
    if (world.step()) return;
    isOver = true;
    resolve();
  };
  const arm = () => {
    if (isOver) return;
    for (let index = 0; index < ROW; index += 1) setImmediate(step);
    setImmediate(arm);
  };
  arm();
  return promise;
}
