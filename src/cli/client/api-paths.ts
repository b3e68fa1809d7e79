import { ApiError } from './api-error.ts';

/** Ids are the user's own, and may hold anything. */
export function jobPath(jobId: string): string {
  return `/jobs/${segment(jobId)}`;
}

export function itemPath(jobId: string, itemId: string): string {
  return `${jobPath(jobId)}/items/${segment(itemId)}`;
}

export function hostPath(host: string): string {
  return `/hosts/${segment(host)}`;
}

/** Whatever reads an address takes `.` and `..` away, however they are written. */
function segment(id: string): string {
  if (id === '.' || id === '..') throw new ApiError(`no address can name ${id}: give it another id`);
  return encodeURIComponent(id);
}
