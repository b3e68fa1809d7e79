import { z } from 'zod';
import { compileHosts } from '../../domain/allowed-hosts.ts';
import { compileInput, compileOutput } from '../../domain/recording/parse-recording.ts';
import type { Recording } from '../../domain/recording/recording.ts';
import type { StepPause } from '../../domain/recording/step-pause.ts';
import { defineScraper } from '../define-scraper.ts';
import { compileSigns } from '../page/signs.ts';
import { DEFAULT_LIMITS } from '../returned.ts';
import type { ScrapeResult, Scraper } from '../scraper.ts';
import { EngineChoice } from './engine-choice.ts';
import { type RecordedVisit, visitInBrowser, visitOverHttp } from './recorded-visit.ts';
import { StepPictures } from './step-pictures.ts';

/** What a county's largest page needs, with its pictures, and a document. */
const VISIT_BYTES = 256 << 20;

/** The scraper that a recording is. `pause` is asked about steps that fail in a browser, if someone watches. */
export function recordingScraper(recording: Recording, pause: StepPause | null = null): Scraper {
  const { id, name, version, description, hosts, engine } = recording;
  const output = compileOutput(recording) ?? z.record(z.string(), z.unknown());
  const rules = {
    signs: compileSigns({}, 'if-missing'),
    limits: { ...DEFAULT_LIMITS, visitBytes: VISIT_BYTES },
    allowsHost: compileHosts(hosts),
  };
  const choice = new EngineChoice(recording);
  const pictures = new StepPictures();
  return defineScraper({
    ...{ id, name, version, description, hosts, output },
    input: compileInput(recording),
    kind: 'recording',
    lane: engine === 'http' ? 'http' : 'browser',
    metadata: true,
    async scrape(context): Promise<ScrapeResult> {
      const visit: RecordedVisit = { recording, rules, output, context, pause, pictures };
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
      return { ...result, facts, steps: report.seen };
    },
    extract: null,
  });
}

/** Steps of which `metadata.json` tells. */
const MAX_FACTS = 200;
