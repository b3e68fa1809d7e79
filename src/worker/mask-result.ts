import { ARTIFACTS } from '../domain/artifact.ts';
import type { SeenTry } from '../domain/failed-try.ts';
import type { Failure } from '../domain/failure.ts';
import type { SeenStep } from '../domain/recording/step-statistics.ts';
import type { Secrets } from '../domain/secrets.ts';
import type { ProducedArtifact, ScrapeResult } from '../scraping/scraper.ts';

/**
 * The result without the values of secrets: in the failure, in the metadata, in pages and data. A site may repeat what
 * it was sent, and an error may quote a request. Documents are stored unchanged: they are not texts.
 */
export function maskResult(result: ScrapeResult, secrets: Secrets): ScrapeResult {
  if (!secrets.hasAny) return result;
  const artifacts = result.artifacts?.map((artifact) => maskArtifact(artifact, secrets));
  const kept = artifacts === undefined ? {} : { artifacts };
  if (result.kind !== 'failed') return { ...result, ...kept };
  return { ...result, ...kept, failure: maskFailure(result.failure, secrets) };
}

/** Masked before its message is cut: half a secret would not be recognised. */
export function maskTry(seen: SeenTry, secrets: Secrets): SeenTry {
  return { ...seen, failure: maskFailure(seen.failure, secrets) };
}

function maskFailure(failure: Failure, secrets: Secrets): Failure {
  const { message, cause, place, step } = failure;
  return {
    ...failure,
    message: secrets.mask(message),
    cause: cause === null ? null : secrets.mask(cause),
    ...(place === undefined ? {} : { place: secrets.mask(place) }),
    ...(step === undefined ? {} : { step: { ...step, label: secrets.mask(step.label) } }),
  };
}

/** A recording may hold a secret where it should name an input. */
export function maskSteps(steps: readonly SeenStep[], secrets: Secrets): readonly SeenStep[] {
  if (!secrets.hasAny) return steps;
  return steps.map((each) => ({
    ...each,
    step: { ...each.step, label: secrets.mask(each.step.label) },
    selectors: each.selectors.map((selector) => secrets.mask(selector)),
  }));
}

function maskArtifact(artifact: ProducedArtifact, secrets: Secrets): ProducedArtifact {
  const { kind, bytes } = artifact;
  if (!ARTIFACTS[kind].isText || !(bytes instanceof Uint8Array)) return artifact;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  const masked = secrets.mask(text);
  return masked === text ? artifact : { ...artifact, bytes: Buffer.from(masked) };
}
