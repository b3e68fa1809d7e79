/**
 * Times that must fit each other, in one place. A lease here is longer than on one machine: each renewal is a request
 * that is paid for, and a worker that died costs its items this much time and nothing else.
 */
export const LEASE_SECONDS = 300;

/** What SQS hides a message for when the receiver does not say. It always does; a lower value would double deliveries. */
export const VISIBILITY_SECONDS = 2 * LEASE_SECONDS;

/** Between SIGTERM and SIGKILL: the most that Fargate allows, and the warning that Spot gives. */
export const STOP_SECONDS = 120;

/** What of it a worker may go on with its items for. The rest is for giving back, writing and the last line of the log. */
export const DRAIN_SECONDS = 90;

/** How long a controller may take until it answers, before a load balancer may judge it. */
export const START_SECONDS = 60;
