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
 * What a browser showed at one moment, as HTML: sixty values are read without asking the browser sixty times. Later
 * changes of the page are not visible here; read it again for those.
 */
export class RenderedPage extends JudgedReader {
  override readonly url: string;
  override readonly body: string;
  /** Status of the answer with the document; null if unknown. */
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
