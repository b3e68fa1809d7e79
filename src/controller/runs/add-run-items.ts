import { addRunItemsSchema } from '../../contract/scrape-run-requests.ts';
import { type FieldProblem, schemaProblems } from '../../domain/schema-problems.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RunBook } from '../../ports/run-book.ts';
import { type ReadRunAnswer, readRunBody } from './read-run-body.ts';

interface AddDeps {
  readonly runs: Pick<RunBook, 'add' | 'run'>;
  readonly clock: Pick<Clock, 'now' | 'turn'>;
}

type AddAnswer =
  | Exclude<ReadRunAnswer, { kind: 'read' }>
  | { readonly kind: 'bad'; readonly problems: readonly FieldProblem[] }
  | { readonly kind: 'missing' | 'ended' }
  | { readonly kind: 'added'; readonly added: number; readonly known: number };

/**
 * Adds the items of a body that is read as it arrives. Items before a bad one may have been added; the request can be
 * repeated when it is corrected.
 */
export async function addRunItems(
  { runs, clock }: AddDeps,
  id: string,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<AddAnswer> {
  const tally = { added: 0, known: 0 };
  let refused: 'missing' | 'ended' | null = await refusal(runs, id);
  const take = async (urls: readonly string[]) => {
    if (refused !== null) return;
    const answer = await runs.add(id, urls, clock.now());
    if (answer.kind !== 'added') refused = answer.kind;
    else {
      tally.added += answer.added;
      tally.known += answer.known;
    }
  };
  const read = await readRunBody({ clock, take }, bytes, signal);
  if (refused !== null) return { kind: refused };
  if (read.kind !== 'read') return read;
  const placeholders = read.urls > 0 ? { items: [{ url: 'https://example.com' }] } : {};
  const fields = addRunItemsSchema.safeParse({ ...placeholders, ...read.fields });
  if (!fields.success) return { kind: 'bad', problems: schemaProblems(fields.error) };
  return { kind: 'added', ...tally };
}

/** Known before the body is read, so that a request about a run that does not exist is not checked for other mistakes. */
async function refusal(runs: Pick<RunBook, 'run'>, id: string): Promise<'missing' | 'ended' | null> {
  const run = await runs.run(id);
  if (run === null) return 'missing';
  return run.endedAt === null ? null : 'ended';
}
