import { JudgedReader } from '../judged-reader.ts';
import type { Arrival } from '../page/explain-absence.ts';
import type { CompiledSigns } from '../page/signs.ts';

interface RenderedFacts {
  readonly url: string;
  readonly body: string;
  readonly status: number | null;
  readonly fetchedAt: number;
  readonly arrival: Arrival;
  readonly signs: CompiledSigns;
}

/**
 * What a browser showed at one moment, written out as HTML: sixty values of it are read without asking the browser sixty
 * times. Later changes of the page do not show here; read it again for those.
 */
export class RenderedPage extends JudgedReader {
  override readonly url: string;
  override readonly body: string;
  /** Of the answer that the document came with; null if that is not known. */
  readonly status: number | null;
  /** Milliseconds since 1970. */
  readonly fetchedAt: number;

  constructor(facts: RenderedFacts) {
    super(facts);
    this.url = facts.url;
    this.body = facts.body;
    this.status = facts.status;
    this.fetchedAt = facts.fetchedAt;
  }
}
