/**
 * Under which names metrics are told to CloudWatch, as plain data: the alarms and the dashboard of deploy/aws are made from
 * these, so that they ask for what there is.
 */
export const EMF_NAMESPACE = 'Trawl';

export const EMF = {
  /** To be added up; told by the leader, where something happened. */
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
  /** The same, of every controller. */
  ownCounts: { errors: 'EngineErrors' },
  /** Of every controller: the largest of them is what counts. */
  gauges: { leading: 'Leading', storageTrouble: 'StorageTrouble' },
  /** Of the leader alone. */
  standing: { jobs: 'JobsInProgress', pending: 'ItemsPending' },
  /** … and per lane. */
  perLane: { waiting: 'BatchesWaiting', delivered: 'BatchesDelivered' },
  /** Counted, per type of failure. */
  perFailure: { failures: 'Failures' },
} as const;

export const EMF_DIMENSIONS = { lane: 'Lane', failureType: 'FailureType' } as const;
