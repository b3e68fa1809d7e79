import { createRunSchema } from '../../contract/scrape-run-requests.ts';
import { type FieldProblem, schemaProblems } from '../../domain/schema-problems.ts';
import type { RunMetadata, RunRecord } from '../../domain/scrape-run.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RunBook, RunDraft } from '../../ports/run-book.ts';
import { type ReadRunAnswer, readRunBody } from './read-run-body.ts';

export interface CreateRunDeps {
  readonly runs: Pick<RunBook, 'draft'>;
  readonly clock: Pick<Clock, 'now' | 'turn'>;
}

type CreateRunAnswer =
  | Exclude<ReadRunAnswer, { kind: 'read' }>
  | { readonly kind: 'bad'; readonly problems: readonly FieldProblem[] }
  | { readonly kind: 'created'; readonly run: RunRecord };

/** Creates a run of a body that is read as it arrives; all of it or nothing. */
export async function createRun(
  { runs, clock }: CreateRunDeps,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<CreateRunAnswer> {
  let draft: RunDraft | null = null;
  const take = async (urls: readonly string[]) => {
    draft ??= await runs.draft();
    await draft.add(urls);
  };
  // A separate function, because the compiler does not see that `take` assigns it.
  const begun = (): RunDraft | null => draft;
  try {
    const read = await readRunBody({ clock, take }, bytes, signal);
    if (read.kind !== 'read') return read;
    const fields = createRunSchema.safeParse(read.fields);
    if (!fields.success) return { kind: 'bad', problems: schemaProblems(fields.error) };
    const { domain, source = null } = fields.data;
    const metadata: RunMetadata = fields.data.metadata ?? {};
    const now = clock.now();
    const startedAt = metadata.started_at === undefined ? now : Date.parse(metadata.started_at);
    const last = begun() ?? (await runs.draft());
    draft = last;
    return { kind: 'created', run: await last.commit({ domain, source, startedAt, metadata }, now) };
  } finally {
    // The book removes it later if this fails.
    await begun()
      ?.drop()
      .catch(() => {});
  }
}
