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
  // Listening alone must not keep a finished worker alive.
  process.channel?.unref();
}

/**
 * Tells the process that started this one that it works, and its name: if it dies later, it did start properly, and it
 * is known which worker is gone.
 */
export function tellParentReady(worker: string): void {
  // A parent that has just died does not receive it; `onParentGone` notices.
  process.send?.(worker, undefined, undefined, () => {});
}
