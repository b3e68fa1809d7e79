import { parseArgs } from 'node:util';
import { runCounty } from './run-county.ts';

const USAGE = `usage: npm run county -- [--items N] [--workers N] [--seed N] [--json]

A job at a model county, in virtual time: it refuses more than 5 requests per second, is slow for a while and down for an
hour. The policy says nothing about its pace. Printed are the figures of a job with throttling.adaptive, and the same
without. It exits with 1 if 1 % of the requests or more were refused, an item failed, more than 60 requests were sent while
the county was down, or the job took more than 1.3 times the ideal time.`;

const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '100000' },
    workers: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) {
  console.log(USAGE);
} else {
  const options = {
    items: Number(values.items),
    workers: Number(values.workers),
    seed: Number(values.seed),
    outageMs: 3_600_000,
  };
  const adaptive = await runCounty({ ...options, isAdaptive: true });
  const withoutAdaptive = await runCounty({ ...options, isAdaptive: false });
  if (values.json) console.log(JSON.stringify({ ...options, ...adaptive, without_adaptive: withoutAdaptive }));
  else console.table({ adaptive, 'without adaptive': withoutAdaptive });
  const { refused_share, outage_requests, time_ratio, success } = adaptive;
  const isGood = refused_share < 0.01 && outage_requests <= 60 && time_ratio < 1.3 && success === options.items;
  process.exitCode = isGood ? 0 : 1;
}
