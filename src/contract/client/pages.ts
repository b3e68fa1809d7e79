import type { ApiClient, Query } from './api-client.ts';

/** Pages of a list, until `limit` entries were seen; all of them if it is null. A page may be empty. */
export async function* readPages<Page extends { readonly next_cursor: string | null }>(
  api: ApiClient,
  path: string,
  query: Query,
  want: { readonly limit: number | null; readonly pageSize: number; readonly countOf: (page: Page) => number },
): AsyncGenerator<Page> {
  let left = want.limit ?? Number.POSITIVE_INFINITY;
  let cursor: string | null = null;
  do {
    const limit = Math.min(left, want.pageSize);
    const page: Page = await api.get<Page>(path, { ...query, limit, ...(cursor === null ? {} : { cursor }) });
    yield page;
    left -= want.countOf(page);
    cursor = page.next_cursor;
  } while (cursor !== null && left > 0);
}
