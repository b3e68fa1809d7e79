/**
 * The names of metrics in CloudWatch, as plain data: the alarms and the dashboard of deploy/aws are built from these, so
 * that they use names that exist.
 */
export const EMF_NAMESPACE = 'Trawl';

export const EMF = {
  /** Summed by CloudWatch; written by the leader when something happened. */
  counts: {
    settled: 'ItemsSettled',
    success: 'ItemsSucceeded',
    failed: 'ItemsFailed',
    skipped: 'ItemsSkipped',
    trips: 'BreakerTrips',
    dispatched: 'BatchesDispatched',
    expired: 'LeasesExpired',
    lost: 'BatchesLost',
    deadLetters: 'DeadLetters',
    fenced: 'FencedWrites',
    unread: 'StandingUnread',
  },
  /** The same, from every controller. */
  ownCounts: { errors: 'EngineErrors' },
  /** Written by every controller: the largest value counts. */
  gauges: { leading: 'Leading', storageTrouble: 'StorageTrouble' },
  /** Written only by the leader. */
  standing: { jobs: 'JobsInProgress', pending: 'ItemsPending' },
  /** Written only by the leader, per lane. */
  perLane: { waiting: 'BatchesWaiting', delivered: 'BatchesDelivered' },
  /** Counts, per type of failure. */
  perFailure: { failures: 'Failures' },
  /** Counted, per kind of proxy. Hosts are too many: each would be a metric that is billed. */
  perProxy: { requests: 'Requests', bytesUp: 'BytesUp', bytesDown: 'BytesDown' },
} as const;

export const EMF_DIMENSIONS = { lane: 'Lane', failureType: 'FailureType', proxy: 'Proxy' } as const;
