import type { StepOf } from '../../domain/recording/step.ts';
import type { ChosenFile } from '../http/form-controls.ts';
import { fail } from '../scrape-failure.ts';
import { type KeepingStep, navigating } from './do-step.ts';
import type { KeptBytes } from './kept-bytes.ts';
import type { StepScope } from './step-scope.ts';

/** What a step kept, as a field of the data says it. */
interface KeptFact {
  readonly kind: 'screenshot' | 'document';
  readonly size: number;
  readonly media_type: string;
}

export interface KeptByStep {
  /** Null for an upload, and for an optional document that could not be had. */
  readonly fact: KeptFact | null;
  readonly alternative: number | null;
}

/** Carries out a step that keeps bytes, or sends some. `data`: what the item has read so far. */
export async function keepStep(
  step: KeepingStep,
  scope: StepScope,
  kept: KeptBytes,
  data: unknown,
): Promise<KeptByStep> {
  const { engine } = scope;
  const timeoutMs = scope.timeoutMs(step);
  switch (step.type) {
    case 'screenshot': {
      const bytes = await engine.screenshot(scope.wanted(step), { fullPage: step.fullPage === true, timeoutMs });
      kept.screenshot = bytes;
      return { fact: { kind: 'screenshot', size: bytes.length, media_type: 'image/png' }, alternative: null };
    }
    case 'pdf': {
      const bytes = await engine.pdf(timeoutMs);
      await kept.keepPdf(bytes, engine.url());
      return { fact: { kind: 'document', size: bytes.length, media_type: 'application/pdf' }, alternative: null };
    }
    case 'download': {
      const optional = step.optional === true;
      const { document, alternative } = await engine.download(sourceOf(step, scope), { optional, timeoutMs });
      if (document === null) return { fact: null, alternative };
      await kept.keepDocument(document);
      return { fact: { kind: 'document', size: document.size, media_type: document.contentType }, alternative };
    }
    case 'upload': {
      const files = step.files.map((file) => readFile(file, kept, data));
      const wanted = scope.aimed(step);
      const act = () => engine.interact({ type: 'upload', files }, wanted, timeoutMs);
      return { fact: null, alternative: await navigating(step, scope, act) };
    }
  }
}

function sourceOf(step: StepOf<'download'>, scope: StepScope) {
  if (step.url !== undefined) return { from: 'address', url: step.url } as const;
  if (step.selectors === undefined) return { from: 'earlier' } as const;
  return { from: 'element', wanted: scope.aimed(step) } as const;
}

/** Only what the recording, the input or the item itself holds: no file of the machine can be named. */
function readFile(file: StepOf<'upload'>['files'][number], kept: KeptBytes, data: unknown): ChosenFile {
  if (file.from === 'inline') {
    const { fileName, mediaType = 'application/octet-stream' } = file;
    const base64 = file.base64.replace(/\s+/g, '');
    if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(base64)) fail('invalid_input', `the bytes of ${fileName} are not base64`);
    return { name: fileName, contentType: mediaType, bytes: Buffer.from(base64, 'base64') };
  }
  const { artifact, fileName } = file;
  if (artifact === 'data') {
    return { name: fileName ?? 'data.json', contentType: 'application/json', bytes: Buffer.from(JSON.stringify(data)) };
  }
  if (artifact === 'screenshot') {
    const bytes = kept.screenshot ?? fail('structure_changed', 'there is no screenshot yet to upload');
    return { name: fileName ?? 'screenshot.png', contentType: 'image/png', bytes };
  }
  const { document, documentBytes } = kept;
  if (document === null || documentBytes === null) {
    return fail('structure_changed', 'there is no document yet to upload, or it is larger than 16 MiB');
  }
  const { contentType, extension } = document;
  return { name: fileName ?? `document.${extension}`, contentType, bytes: documentBytes };
}
