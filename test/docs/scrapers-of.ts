/** The whole scrapers that a page shows. */
export function scrapersOf(page: string): readonly { readonly id: string; readonly code: string }[] {
  return [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].flatMap(([, code = '']) => {
    const id = /export default define\w+\(\{\s+id: '([\w-]+)'/.exec(code)?.[1];
    return id === undefined ? [] : [{ id, code }];
  });
}
