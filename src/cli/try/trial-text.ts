import { styleText } from 'node:util';
import type { TrialEvent, TrialOutcome, TrialReport } from '../../main/trial.ts';
import { formatBytes, formatCount, formatItems, formatTook, printable, STEERING } from '../format.ts';

const LONGEST_SELECTOR = 50;
const LONGEST_READ = 100;

/** Printed as it happens, so that a waiting trial says what it waits for. */
export function eventText(event: TrialEvent): string {
  switch (event.kind) {
    case 'request':
      return requestText(event);
    case 'wait':
      return `  waited ${formatTook(event.ms)} for ${printable(event.host)}`;
    case 'retry': {
      const why = `${event.type}: ${printable(event.message, 500)}`;
      return `  ${styleText('yellow', `try ${event.tries} failed`)}: ${why}; the next one is in ${formatTook(event.delayMs)}`;
    }
    case 'log': {
      const fields = Object.keys(event.fields).length === 0 ? '' : ` ${JSON.stringify(event.fields)}`;
      return `  ${event.level}  ${printable(`${event.message}${fields}`, 1000)}`;
    }
  }
}

function requestText(request: TrialEvent & { readonly kind: 'request' }): string {
  const { method, url, status, bytes, ms, redirects, problem } = request;
  const hops = redirects.length === 0 ? '' : `  after ${formatItems(redirects.length, 'redirect')}`;
  const end = problem === null ? `  ${formatBytes(bytes)}` : `  ${printable(problem, 500)}`;
  const code = status === null ? styleText('red', '---') : String(status);
  return `  ${code}  ${method} ${printable(url, 500)}  ${formatTook(ms)}${end}${hops}`;
}

/** The summary at the end. */
export function reportText(report: TrialReport): string {
  return [...selectorLines(report), ...outcomeLines(report.outcome), endLine(report)].join('\n');
}

function selectorLines({ selectors }: TrialReport): readonly string[] {
  if (selectors.length === 0) return [];
  const names = selectors.map(({ selector }) => printable(selector, LONGEST_SELECTOR));
  const width = Math.max(...names.map(({ length }) => length));
  const counts = selectors.map(matchesText);
  const countWidth = Math.max(...counts.map(({ length }) => length));
  const lines = selectors.map(({ text, most }, at) => {
    const read = text === null ? '' : `  ${JSON.stringify(printable(text, LONGEST_READ))}`;
    const count = (counts[at] ?? '').padEnd(countWidth);
    return `  ${(names[at] ?? '').padEnd(width)}  ${most === 0 ? styleText('yellow', count) : count}${read}`.trimEnd();
  });
  return [styleText('bold', 'selectors'), ...lines];
}

/** `1 match`, `no match`, `0 to 2 matches in 12 uses` */
function matchesText({ uses, fewest, most }: TrialReport['selectors'][number]): string {
  const count = fewest === most ? formatCount(most) : `${formatCount(fewest)} to ${formatCount(most)}`;
  const matches = most === 0 ? 'no match' : `${count} ${most === 1 ? 'match' : 'matches'}`;
  return uses === 1 ? matches : `${matches} in ${formatCount(uses)} uses`;
}

function outcomeLines(outcome: TrialOutcome): readonly string[] {
  if (outcome.kind !== 'data') return [];
  return [styleText('bold', 'data'), ...jsonLines(outcome.data)];
}

/** Site text in it must not control the terminal. */
function jsonLines(value: unknown): readonly string[] {
  return JSON.stringify(value ?? null, null, 2)
    .split('\n')
    .map((line) => line.replaceAll(STEERING, ' '));
}

function endLine({ scraperId, version, outcome, tries, ms, events, caseName }: TrialReport): string {
  const requests = events.filter(({ kind }) => kind === 'request').length;
  const facts = [
    `${scraperId} ${printable(version)}`,
    ...(caseName === null ? [] : [`recorded pages of ${printable(caseName)}`]),
    formatItems(requests, 'request'),
    ...(tries > 1 ? [`${tries} tries`] : []),
    ...(outcome.kind === 'data' ? outcome.kept.map(({ kind, bytes }) => `${kind} ${formatBytes(bytes)}`) : []),
    formatTook(ms),
  ].join(', ');
  return `${verdict(outcome)}\n${facts}`;
}

function verdict(outcome: TrialOutcome): string {
  switch (outcome.kind) {
    case 'data':
      return styleText('green', 'ok');
    case 'skipped':
      return `skipped: ${outcome.reason}`;
    case 'failed':
      return `${styleText('red', 'failed')}: ${outcome.type}: ${printable(outcome.message, 2000)}`;
  }
}

export function reportJson(report: TrialReport, pageFile: string | null): object {
  const { outcome, events } = report;
  return {
    scraper_id: report.scraperId,
    scraper_version: report.version,
    file: report.file,
    input: report.input,
    case: report.caseName,
    outcome: outcome.kind === 'data' ? 'success' : outcome.kind,
    data: outcome.kind === 'data' ? outcome.data : null,
    error: outcome.kind === 'failed' ? { type: outcome.type, message: outcome.message } : null,
    artifacts: outcome.kind === 'data' ? outcome.kept : [],
    tries: report.tries,
    duration_ms: report.ms,
    events: events.map(eventJson),
    selectors: report.selectors,
    page_url: report.page?.url ?? null,
    page_file: pageFile,
  };
}

function eventJson(event: TrialEvent): object {
  if (event.kind !== 'retry') return event;
  const { kind, tries, type, message, delayMs } = event;
  return { kind, try: tries, error: { type, message }, delay_ms: delayMs };
}
