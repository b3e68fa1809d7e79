import { type ResultRow, type RowDeps, rowBatches } from '../../src/controller/results/result-rows.ts';

/** The rows of all items of a job, one by one. */
export async function* resultRows(parts: RowDeps, jobId: string): AsyncGenerator<ResultRow> {
  for await (const { rows } of rowBatches(parts, jobId, { status: null, errorType: null })) yield* rows;
}
