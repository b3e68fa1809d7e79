/** Yields the bytes until `signal` aborts: then its reason is thrown, even if the sender is silent. */
export async function* untilAborted(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const source = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await beforeAbort(source.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // A pending read ends only when its source does, and the caller must not wait for that.
    const ended = source.return?.();
    if (signal.aborted) ended?.catch(() => {});
    else await ended;
  }
}

function beforeAbort<T>(wait: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  // One listener per piece, always removed: a signal may live as long as the process.
  wait.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  return promise;
}
