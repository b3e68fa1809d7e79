import { ARTIFACT_KINDS } from '../domain/artifact.ts';
import { presentFailure } from '../domain/failure.ts';
import type { ItemInput } from '../domain/item.ts';
import type { ProducedArtifact, ScrapeResult } from '../scraping/scraper.ts';

/** What the engine knows about a finished attempt. */
export interface AttemptFacts {
  readonly jobId: string;
  readonly itemId: string;
  readonly scraper: { readonly id: string; readonly version: string };
  readonly input: ItemInput;
  readonly attempt: number;
  readonly tries: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/**
 * Adds a `metadata.json` that says how the result came about: what the engine knows, and what the scraper reported about
 * its requests. If a scraper made its own metadata, they are kept unchanged.
 */
export function withMetadata(result: ScrapeResult, facts: AttemptFacts): ScrapeResult {
  const { artifacts = [] } = result;
  // A skipped item without artifacts needs no metadata.
  if (result.kind === 'skipped' && artifacts.length === 0) return result;
  if (artifacts.some(({ kind }) => kind === 'metadata')) return result;
  const metadata = {
    job_id: facts.jobId,
    item_id: facts.itemId,
    scraper_id: facts.scraper.id,
    scraper_version: facts.scraper.version,
    input: facts.input,
    ...result.facts,
    attempt: facts.attempt,
    tries: facts.tries,
    started_at: new Date(facts.startedAt).toISOString(),
    ended_at: new Date(facts.endedAt).toISOString(),
    error: result.kind === 'failed' ? presentFailure(result.failure) : null,
  };
  return { ...result, artifacts: inOrder([...artifacts, jsonArtifact(metadata)]) };
}

function jsonArtifact(value: unknown): ProducedArtifact {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  return { kind: 'metadata', bytes };
}

/** In the order in which the kinds are listed everywhere else. */
function inOrder(artifacts: readonly ProducedArtifact[]): readonly ProducedArtifact[] {
  return artifacts.toSorted((a, b) => ARTIFACT_KINDS.indexOf(a.kind) - ARTIFACT_KINDS.indexOf(b.kind));
}
