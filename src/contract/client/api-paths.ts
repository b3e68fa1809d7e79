import { ApiError } from './api-error.ts';

/** Ids are chosen by users and may contain any character. */
export function jobPath(jobId: string): string {
  return `/jobs/${segment(jobId)}`;
}

export function planPath(planId: string): string {
  return `/plans/${segment(planId)}`;
}

export function itemPath(jobId: string, itemId: string): string {
  return `${jobPath(jobId)}/items/${segment(itemId)}`;
}

export function hostPath(host: string): string {
  return `/hosts/${segment(host)}`;
}

export function sitePath(siteId: string): string {
  return `/sites/${segment(siteId)}`;
}

export function scraperPath(scraperId: string): string {
  return `/scrapers/${segment(scraperId)}`;
}

export function cachePath(siteId: string): string {
  return `/cache/${segment(siteId)}`;
}

export function errorsPath(siteId: string): string {
  return `/errors/${segment(siteId)}`;
}

/** URL parsers remove `.` and `..`, however they are encoded. */
function segment(id: string): string {
  if (id === '.' || id === '..') throw new ApiError(`${id} cannot be part of a URL: use another id`);
  return encodeURIComponent(id);
}
