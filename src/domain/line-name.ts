/** The line of a host, named as in an address: `county.gov`, with the port unless it is the default one. */
export function hostLine(host: string): string {
  return `host ${host}`;
}

/** The line of all requests of a job, to any host. */
export function jobRequestsLine(jobId: string): string {
  return `requests of ${jobId}`;
}

/** The line of the items that a job begins. */
export function jobItemsLine(jobId: string): string {
  return `items of ${jobId}`;
}
