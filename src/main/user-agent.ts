import { VERSION } from './version.ts';

/** A reserved address: the operator decides what a site should find. */
const ABOUT_US = 'https://trawl.example/';

/** How we identify ourselves to documentation sites, unless the operator sets another name. */
export function docsUserAgent(config: { readonly docsUserAgent: string }): string {
  return config.docsUserAgent || `Trawl/${VERSION} (+${ABOUT_US}) documentation archiver`;
}
