import { z } from 'zod';
import { compileHosts } from '../../domain/allowed-hosts.ts';
import { compileInput, compileOutput } from '../../domain/recording/parse-recording.ts';
import type { Recording } from '../../domain/recording/recording.ts';
import { defineScraper } from '../define-scraper.ts';
import { compileSigns } from '../page/signs.ts';
import { DEFAULT_LIMITS } from '../returned.ts';
import type { ScrapeResult, Scraper } from '../scraper.ts';
import { EngineChoice } from './engine-choice.ts';
import { type RecordedVisit, visitInBrowser, visitOverHttp } from './recorded-visit.ts';

/** What a county's largest page needs, with its pictures, and a document. */
const VISIT_BYTES = 256 << 20;

/** The scraper that a recording is. */
export function recordingScraper(recording: Recording): Scraper {
  const { id, name, version, description, hosts, engine } = recording;
  const output = compileOutput(recording) ?? z.record(z.string(), z.unknown());
  const rules = {
    signs: compileSigns({}),
    limits: { ...DEFAULT_LIMITS, visitBytes: VISIT_BYTES },
    allowsHost: compileHosts(hosts),
  };
  const choice = new EngineChoice(recording);
  return defineScraper({
    ...{ id, name, version, description, hosts, output },
    input: compileInput(recording),
    kind: 'recording',
    lane: engine === 'http' ? 'http' : 'browser',
    metadata: true,
    async scrape(context): Promise<ScrapeResult> {
      const visit: RecordedVisit = { recording, rules, output, context };
      const { result, ran, why } = await choice.scrape({
        log: context.tools.log,
        hasBrowser: context.tools.browser !== null,
        http: () => visitOverHttp(visit),
        browser: () => visitInBrowser(visit),
      });
      const { report, failedStep } = ran;
      const facts = {
        ...result.facts,
        recording: {
          engine: ran.engine,
          ...(why !== null && { why }),
          ...(failedStep !== null && { failed_step: failedStep }),
          steps: report.facts.slice(0, MAX_FACTS),
        },
      };
      return { ...result, facts };
    },
    extract: null,
  });
}

/** Steps of which `metadata.json` tells. */
const MAX_FACTS = 200;
