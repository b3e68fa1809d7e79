/** How much is read at a time, while the process does nothing else. */
const PIECE_BYTES = 16 * 1024;

/** The head that was already read, then the rest, in pieces small enough not to block the process. */
export async function* inPieces(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* cut(head);
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield* cut(next.value);
}

function* cut(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
