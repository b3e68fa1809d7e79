import { styleText } from 'node:util';
import { ConfigError, loadConfig } from '../../config.ts';
import { openScrapers } from '../../main/scrapers.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { parseInput } from '../jobs/item-list.ts';
import { recordFromJob } from './from-job.ts';
import { recordScraper } from './record.ts';
import { tellUnknown } from './unknown.ts';

interface TestOptions {
  readonly record?: true;
  readonly input?: readonly string[];
  readonly case?: string;
  readonly expectFailure?: true;
  readonly from?: readonly string[];
  readonly url?: string;
  readonly json?: true;
}

type Workshop = Awaited<ReturnType<typeof openScrapers>>;
type Report = ReturnType<Workshop['test']> extends AsyncGenerator<infer Each> ? Each : never;

/** `trawl scrapers test` */
export async function testScrapers(ids: readonly string[], options: TestOptions): Promise<void> {
  process.on('unhandledRejection', (error) => {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`unhandled promise rejection in the scraper: ${what}\n`);
  });
  if (options.from !== undefined) {
    await testFrom(ids, options.from, options);
    return;
  }
  if (options.url !== undefined) throw new ConfigError('--url goes with --from');
  if (options.record) {
    const [id, ...others] = ids;
    if (id === undefined || others.length > 0) throw new ConfigError('--record: name the one scraper to run');
    const asked = {
      name: options.case ?? null,
      input: parseInput(options.input ?? []),
      expectFailure: options.expectFailure ?? false,
    };
    await recordScraper(id, asked, options.json ?? false);
    return;
  }
  if (options.input !== undefined || options.case !== undefined || options.expectFailure !== undefined) {
    throw new ConfigError('--input, --case and --expect-failure go with --record, the last two also with --from');
  }
  const workshop = await openScrapers(loadConfig());
  const reports: Report[] = [];
  for await (const report of workshop.test(ids)) {
    reports.push(report);
    if (!options.json) process.stdout.write(linesOf(report, ids.length > 0, workshop.showDifference));
  }
  const sum = sumOf(reports);
  if (options.json) process.stdout.write(`${JSON.stringify({ ...sum, scrapers: reports.map(toJson) }, null, 2)}\n`);
  else process.stdout.write(summaryLine(sum));
  const unknown = reports.filter(({ kind }) => kind === 'unknown');
  for (const { scraperId } of unknown) tellUnknown(scraperId, workshop.ids());
  process.exitCode = exitCodeOf(reports, ids.length > 0);
}

async function testFrom(ids: readonly string[], from: readonly string[], options: TestOptions): Promise<void> {
  const [jobId, itemId, ...rest] = from;
  const [id, ...others] = ids;
  if (id === undefined || others.length > 0 || jobId === undefined || itemId === undefined || rest.length > 0) {
    throw new ConfigError('--from: name the one scraper first, then the job and the item: my-county --from JOB ITEM');
  }
  if (options.record || options.input !== undefined)
    throw new ConfigError('--record and --input do not go with --from');
  const asked = { jobId, itemId, name: options.case ?? null, expectFailure: options.expectFailure ?? false };
  await recordFromJob(id, asked, options);
}

function linesOf(report: Report, isAsked: boolean, showDifference: Workshop['showDifference']): string {
  if (report.kind === 'broken') return `${failedMark()} ${report.scraperId}  ${printable(report.problem, 1000)}\n`;
  if (report.kind === 'no-fixture') return isAsked ? `${failedMark()} ${report.scraperId}  has no fixture\n` : '';
  if (report.kind === 'unknown') return '';
  return report.cases
    .map(({ scraperId, caseName, differences }) => {
      const mark = differences.length === 0 ? styleText('green', 'ok    ') : failedMark();
      const lines = [`${mark} ${scraperId}  ${printable(caseName)}`];
      return [...lines, ...differences.map((each) => `         ${showDifference(each)}`)].join('\n');
    })
    .map((lines) => `${lines}\n`)
    .join('');
}

function failedMark(): string {
  return styleText('red', 'FAILED');
}

interface Sum {
  readonly passed: number;
  readonly failed: number;
  readonly broken: number;
  readonly without_fixture: number;
}

function sumOf(reports: readonly Report[]): Sum {
  const cases = reports.flatMap((report) => (report.kind === 'ran' ? report.cases : []));
  const passed = cases.filter(({ differences }) => differences.length === 0).length;
  return {
    passed,
    failed: cases.length - passed,
    broken: reports.filter(({ kind }) => kind === 'broken').length,
    without_fixture: reports.filter(({ kind }) => kind === 'no-fixture').length,
  };
}

function summaryLine({ passed, failed, broken, without_fixture }: Sum): string {
  const parts = [`${passed} passed`, `${failed} failed`];
  if (broken > 0) parts.push(`${broken} cannot be used`);
  if (without_fixture > 0) parts.push(`${without_fixture} without a fixture`);
  return `${parts.join(', ')}\n`;
}

/** Running nothing is not a success: a test that tests nothing would go unnoticed. */
function exitCodeOf(reports: readonly Report[], isAsked: boolean): number {
  const { passed, failed, broken } = sumOf(reports);
  if (reports.some(({ kind }) => kind === 'unknown' || (isAsked && kind === 'no-fixture'))) return EXIT.badUsage;
  if (failed + broken > 0) return EXIT.someItemsFailed;
  return passed === 0 ? EXIT.badUsage : EXIT.done;
}

function toJson(report: Report): object {
  const scraper_id = report.scraperId;
  if (report.kind === 'ran') {
    const cases = report.cases.map(({ caseName, differences }) => {
      return { name: caseName, passed: differences.length === 0, differences };
    });
    return { scraper_id, status: cases.every(({ passed }) => passed) ? 'passed' : 'failed', cases };
  }
  if (report.kind === 'broken') return { scraper_id, status: 'broken', problem: report.problem };
  return { scraper_id, status: report.kind === 'unknown' ? 'unknown' : 'no_fixture' };
}
