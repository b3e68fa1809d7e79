/** Up to the first byte that shows what the body is, without a byte order mark. */
export async function firstBytes(source: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array();
  while (!head.some((byte) => byte > 0x20)) {
    const next = await source.next();
    if (next.done === true) return head;
    head = Buffer.concat([head, next.value]);
  }
  const hasMark = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf;
  return hasMark ? head.subarray(3) : head;
}
