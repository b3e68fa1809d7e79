/** Whether this process was started by another of ours, and ends with it. */
export function hasParent(): boolean {
  return process.send !== undefined;
}

/**
 * Calls `listener` once when the process that started this one is gone, so that no worker outlives its controller. A
 * process that was started by hand has no such parent, and nothing happens.
 */
export function onParentGone(listener: () => void): void {
  if (!hasParent()) return;
  if (!process.connected) {
    listener();
    return;
  }
  process.once('disconnect', listener);
  // Listening alone must not keep a worker alive that is done.
  process.channel?.unref();
}

/**
 * Tells the process that started this one that it works, and under which name: should it die later, that was not for
 * want of a good start, and it is known who is gone.
 */
export function tellParentReady(worker: string): void {
  // A parent that died this moment does not get it; `onParentGone` notices.
  process.send?.(worker, undefined, undefined, () => {});
}
