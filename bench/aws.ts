import { BUDGET, type CostReport, type CostRun, runCounted } from '../test/support/aws/cost-run.ts';

/**
 * Whole jobs on the AWS adapters and the emulators, all in this process, with every request counted on the wire. The
 * seconds depend on the emulators as much as on Trawl; what counts is requests and units per item.
 */
export async function benchAws(runs: readonly CostRun[], say: (line: string) => void) {
  const done: Done[] = [];
  for (const run of runs) {
    const report = await runCounted(run);
    say(`${report.job.counts.success} of ${run.items} items in ${report.seconds.toFixed(1)} s`);
    done.push({ run, report });
  }
  for (const row of costTable(done)) say(row);
  const exceeded = done.flatMap((each) => [...exceededBy(each)]);
  for (const problem of exceeded) console.error(`over budget: ${problem}`);
  if (exceeded.length > 0) process.exitCode = 1;
  return { runs: done.map(summaryOf), exceeded };
}

interface Done {
  readonly run: CostRun;
  readonly report: CostReport;
}

function summaryOf({ run, report: { whole, seconds, statusRead } }: Done) {
  const perItem = (count: number) => Number((count / run.items).toFixed(4));
  return {
    ...run,
    seconds: Number(seconds.toFixed(1)),
    itemsPerSecond: Math.round(run.items / seconds),
    dynamoWriteUnitsPerItem: perItem(whole.units.write),
    dynamoReadUnitsPerItem: perItem(whole.units.read),
    sqsRequestsPerItem: perItem(whole.requests.sqs),
    s3PutsPerItem: perItem(whole.requests.s3Puts),
    s3GetsPerItem: perItem(whole.requests.s3Gets),
    requestsOfAStatusRead: statusRead.requests.dynamo,
  };
}

/** As counted: two for every thousand items, and three for the job; a few more are acceptable. */
function manifestPuts(items: number): number {
  return 10 + Math.ceil(items / 500);
}

function* exceededBy({ run, report: { job, whole, statusRead } }: Done): Generator<string> {
  const name = `${run.items} items that keep ${run.keeps}`;
  const kept = run.keeps === 'nothing' ? 0 : BUDGET.s3Puts * run.items;
  const limits = [
    ['write units', whole.units.write, BUDGET.writeUnits * run.items],
    ['SQS requests', whole.requests.sqs, BUDGET.sqsRequests * run.items],
    ['S3 puts', whole.requests.s3Puts, kept + manifestPuts(run.items)],
    ['requests of a status read', statusRead.requests.dynamo, 1],
  ] as const;
  for (const [what, count, most] of limits) {
    if (count > most) yield `${name}: ${count} ${what}, at most ${Math.round(most)}`;
  }
  if (job.counts.success !== run.items) yield `${name}: only ${job.counts.success} succeeded`;
}

/** As the table in docs/aws.md has them. */
const ROWS = [
  ['DynamoDB writes: TransactWriteItems', ['TransactWriteItems'], 'units'],
  ['PutItem, UpdateItem, BatchWriteItem', ['PutItem', 'UpdateItem', 'BatchWriteItem', 'DeleteItem'], 'units'],
  ['DynamoDB reads: Query', ['Query'], 'units'],
  ['GetItem, BatchGetItem', ['GetItem', 'BatchGetItem', 'TransactGetItems'], 'units'],
  ['SQS: SendMessageBatch', ['SendMessageBatch'], 'units'],
  ['ReceiveMessage', ['ReceiveMessage'], 'units'],
  [
    'DeleteMessageBatch, ChangeMessageVisibilityBatch',
    ['DeleteMessageBatch', 'ChangeMessageVisibilityBatch', 'GetQueueAttributes', 'GetQueueUrl'],
    'units',
  ],
  ['S3: PutObject', ['PutObject', 'CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'], 'requests'],
  ['GetObject, HeadObject', ['GetObject', 'HeadObject'], 'requests'],
] as const;

/** Dollars per million, as docs/aws.md lists them. */
const PRICES = { write: 0.625, read: 0.125, sqs: 0.4, s3Puts: 5, s3Gets: 0.4 };

function* costTable(done: readonly Done[]): Generator<string> {
  const row = (name: string, cells: readonly string[]) => `| ${[name, ...cells].join(' | ')} |`;
  const kind = { nothing: 'no-op items', 'three files': 'three files each' } as const;
  const ofEach = (cells: (one: Done) => readonly string[]) => done.flatMap(cells);
  const slow = (ms = 0) => (ms > 0 ? `, ${ms} ms` : '');
  yield row(
    'operation',
    ofEach(({ run }) => [`${kind[run.keeps]}${slow(run.ms)}: requests`, 'units']),
  );
  yield `|${'---|'.repeat(1 + 2 * done.length)}`;
  for (const [name, operations, counted] of ROWS) {
    yield row(
      name,
      ofEach(({ run, report }) => {
        const of = operations.map((operation) => report.whole.byOperation[operation] ?? { requests: 0, units: 0 });
        const perMillion = (field: 'requests' | 'units') => {
          const count = of.reduce((sum, each) => sum + each[field], 0);
          return Math.round((count / run.items) * 1e6).toLocaleString('en-US');
        };
        return [perMillion('requests'), counted === 'units' ? perMillion('units') : '–'];
      }),
    );
  }
  const { writeUnits, sqsRequests, s3Puts } = BUDGET;
  yield row(
    `**per item**: write units / SQS requests / S3 puts (at most ${writeUnits} / ${sqsRequests} / ${s3Puts})`,
    ofEach(({ run: { items }, report: { whole } }) => {
      const counts = [whole.units.write, whole.requests.sqs, whole.requests.s3Puts];
      return [counts.map((count) => (count / items).toFixed(3)).join(' / '), ''];
    }),
  );
  yield row(
    '**dollars per million items**',
    ofEach(({ run: { items }, report: { whole } }) => {
      const { write, read, sqs } = whole.units;
      const { s3Puts: puts, s3Gets: gets } = whole.requests;
      const ofAll = write * PRICES.write + read * PRICES.read + sqs * PRICES.sqs;
      return [`$${((ofAll + puts * PRICES.s3Puts + gets * PRICES.s3Gets) / items).toFixed(2)}`, ''];
    }),
  );
}
