/**
 * Frames on a stream: the length of the body in 4 bytes, then the body, which is JSON. A peer that sends anything else is
 * cut off without an answer (ProtocolError), because after one bad byte the next frame cannot be found.
 */
export class ProtocolError extends Error {
  override name = 'ProtocolError';
}

/** Far above what a full batch of the largest items needs; a longer one is a stranger or a bug. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024;

const HEADER_BYTES = 4;

export function encodeFrame(json: string): Buffer {
  const length = Buffer.byteLength(json);
  if (length > MAX_FRAME_BYTES) throw new ProtocolError(`a frame of ${length} bytes is over the limit`);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.writeUInt32BE(length, 0);
  frame.write(json, HEADER_BYTES);
  return frame;
}

/** Puts frames together from whatever pieces they come in. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** No frame is complete before there are this many bytes; keeps us from joining pieces again for each new one. */
  #needed = HEADER_BYTES;

  /** The bodies that are complete with this piece. Throws ProtocolError. */
  read(piece: Buffer): unknown[] {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < this.#needed) return [];

    const buffer = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces, this.#bytes);
    const bodies: unknown[] = [];
    let at = 0;
    this.#needed = HEADER_BYTES;
    while (buffer.length - at >= HEADER_BYTES) {
      const length = buffer.readUInt32BE(at);
      if (length > MAX_FRAME_BYTES) throw new ProtocolError(`a frame of ${length} bytes is over the limit`);
      const end = at + HEADER_BYTES + length;
      if (end > buffer.length) {
        this.#needed = HEADER_BYTES + length;
        break;
      }
      bodies.push(parse(buffer.toString('utf8', at + HEADER_BYTES, end)));
      at = end;
    }
    this.#bytes = buffer.length - at;
    this.#pieces = this.#bytes === 0 ? [] : [buffer.subarray(at)];
    return bodies;
  }

  /** Whether the stream ended, or would end now, in the middle of a frame. */
  get isInsideFrame(): boolean {
    return this.#bytes > 0;
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new ProtocolError('a frame is not JSON');
  }
}
