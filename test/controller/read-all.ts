import type { ItemFormat } from '../../src/contract/item-formats.ts';
import { readItems } from '../../src/controller/intake/read-items.ts';

/** The bytes in pieces of this size, because a file is never cut where it would be convenient. */
export async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function read(text: string | Uint8Array, format: ItemFormat | null = null, pieceSize = 7) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const items: { id: string; input: unknown; line: number }[] = [];
  const bad: { line: number; problem: string }[] = [];
  for await (const chunk of readItems(inPieces(bytes, pieceSize), format)) {
    items.push(...chunk.items.map(({ item: { itemId: id, ...rest }, line }) => ({ id, ...rest, line })));
    bad.push(...chunk.bad);
  }
  return { items, bad };
}
