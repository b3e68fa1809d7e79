/**
 * The pages of a list, one after another; the next one is read when the caller has finished with this one. `mayGoOn` is
 * asked before each is read, so that a stopping service reads nothing more.
 */
export async function* walkPages<Page extends { readonly next: string | null }>(
  read: (after: string | null) => Promise<Page>,
  mayGoOn: () => boolean = () => true,
): AsyncGenerator<Page> {
  let after: string | null = null;
  do {
    if (!mayGoOn()) return;
    const page: Page = await read(after);
    yield page;
    after = page.next;
  } while (after !== null);
}
