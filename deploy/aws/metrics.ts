import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Duration } from 'aws-cdk-lib/core';
import { EMF, EMF_DIMENSIONS, EMF_NAMESPACE } from '../../src/controller/metrics/emf-names.ts';
import type { FailureType } from '../../src/domain/failure.ts';

/** What Trawl tells CloudWatch through its log, by the names under which it does. */
export class TrawlMetrics {
  /** The sum over the period. */
  count(name: keyof typeof EMF.counts, period = Duration.minutes(1)): Metric {
    return this.#metric(EMF.counts[name], 'Sum', period);
  }

  ownCount(name: keyof typeof EMF.ownCounts, period = Duration.minutes(1)): Metric {
    return this.#metric(EMF.ownCounts[name], 'Sum', period);
  }

  failures(type: FailureType): Metric {
    const dimensionsMap = { [EMF_DIMENSIONS.failureType]: type };
    return this.#metric(EMF.perFailure.failures, 'Sum', Duration.minutes(5)).with({ dimensionsMap, label: type });
  }

  /** The largest value that any controller reported. */
  gauge(name: keyof typeof EMF.gauges, period = Duration.minutes(1)): Metric {
    return this.#metric(EMF.gauges[name], 'Maximum', period);
  }

  standing(name: keyof typeof EMF.standing, period = Duration.minutes(1)): Metric {
    return this.#metric(EMF.standing[name], 'Maximum', period);
  }

  #metric(metricName: string, statistic: string, period: Duration): Metric {
    return new Metric({ namespace: EMF_NAMESPACE, metricName, statistic, period });
  }
}
