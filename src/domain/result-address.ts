/** Where bytes are in a result store, and which of them are meant. */

export type ContentEncoding = 'identity' | 'gzip';

/**
 * Everything under a key, or a slice of it, so that one object can hold many artifacts. A slice is counted in bytes of
 * the body as it was put, however the store encodes that body.
 */
export interface ResultAddress {
  readonly key: string;
  /** First byte of the slice; 0 if only a length is given. */
  readonly offset?: number;
  /** Bytes of the slice; up to the end of the body if only an offset is given. */
  readonly length?: number;
  /** How the bytes of a slice themselves are encoded. For a whole body, the store knows. */
  readonly encoding?: ContentEncoding;
}

/** From `start` up to but excluding `end`, in bytes of the decoded body. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A slice of a body whose size is not known yet. */
export interface Slice {
  readonly start: number;
  /** Null means the end of the body. */
  readonly end: number | null;
  readonly encoding: ContentEncoding;
}

/** Throws RangeError if the numbers cannot describe a slice. */
export function parseAddress(at: string | ResultAddress): { readonly key: string; readonly slice: Slice | null } {
  if (typeof at === 'string') return { key: at, slice: null };
  const { key, offset, length, encoding = 'identity' } = at;
  if (offset === undefined && length === undefined) return { key, slice: null };
  const start = offset ?? 0;
  const end = length === undefined ? null : start + length;
  for (const place of [start, length ?? 0, end ?? 0]) mustBePlace(place);
  return { key, slice: { start, end, encoding } };
}

/** The position of a slice in a body of this size. Throws SliceBeyondEnd if the body ends before the slice does. */
export function locateSlice(key: string, { start, end }: Slice, size: number): ByteRange {
  const last = end ?? size;
  if (start > last || last > size) throw new SliceBeyondEnd(key, { start, end: Math.max(start, last) }, size);
  return { start, end: last };
}

/**
 * The part of a range that is within a body of this size; everything without a range. Its start is never after its end.
 */
export function cutRange(range: ByteRange | null, size: number): ByteRange {
  if (range === null) return { start: 0, end: size };
  for (const place of [range.start, range.end]) mustBePlace(place);
  const end = Math.min(range.end, size);
  return { start: Math.min(range.start, end), end };
}

/** Converts a range within a slice to one within the body. */
export function cutWithin(slice: ByteRange, range: ByteRange | null): ByteRange {
  const { start, end } = cutRange(range, slice.end - slice.start);
  return { start: slice.start + start, end: slice.start + end };
}

/** For records and answers: a whole body has neither field, as before slices existed. */
export function sliceFields({
  offset,
  length,
}: {
  readonly offset?: number | undefined;
  readonly length?: number | undefined;
}): Pick<ResultAddress, 'offset' | 'length'> {
  return { ...(offset === undefined ? {} : { offset }), ...(length === undefined ? {} : { length }) };
}

export function isSameAddress(one: ResultAddress, other: ResultAddress): boolean {
  return one.key === other.key && one.offset === other.offset && one.length === other.length;
}

/** The object is shorter than what was recorded of it: it is damaged, or another one. */
export class SliceBeyondEnd extends Error {
  constructor(key: string, { start, end }: ByteRange, size: number) {
    super(`${key} has ${size} bytes, but a slice from ${start} to ${end} was requested`);
    this.name = 'SliceBeyondEnd';
  }
}

function mustBePlace(place: number): void {
  if (!Number.isSafeInteger(place) || place < 0) throw new RangeError(`not a position in a body: ${place}`);
}
