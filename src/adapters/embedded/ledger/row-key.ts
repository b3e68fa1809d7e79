/**
 * One integer that names a job and a place in it: an item, a batch, a bucket of ids. All are safe integers in
 * JavaScript and rowids in SQLite, where an integer key is ten times as fast as a text.
 */
const PLACES = 2 ** 32;

/** Beyond it a key would not be a safe integer. */
export const MAX_JOB_NUM = 2 ** 21 - 1;

export function rowKey(jobNum: number, place: number): number {
  return jobNum * PLACES + place;
}

export function jobNumOf(key: number): number {
  return Math.floor(key / PLACES);
}

export function placeOf(key: number): number {
  return key % PLACES;
}

/** The last key that a row of the job can have. */
export function lastKey(jobNum: number): number {
  return rowKey(jobNum, PLACES - 1);
}
