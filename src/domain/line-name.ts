/** The line of a host, as in an address: `county.gov`, with the port where that is not the usual one. */
export function hostLine(host: string): string {
  return `host ${host}`;
}

/** Of all requests of a job, wherever they go. */
export function jobRequestsLine(jobId: string): string {
  return `requests of ${jobId}`;
}

/** Of the items that a job begins. */
export function jobItemsLine(jobId: string): string {
  return `items of ${jobId}`;
}
