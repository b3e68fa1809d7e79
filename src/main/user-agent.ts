import { VERSION } from './version.ts';

/** An address that belongs to nobody: what a site should find there is for the operator to say. */
const ABOUT_US = 'https://trawl.example/';

/** Who we say we are to documentation sites, unless the operator has a name of their own. */
export function docsUserAgent(config: { readonly docsUserAgent: string }): string {
  return config.docsUserAgent || `Trawl/${VERSION} (+${ABOUT_US}) documentation archiver`;
}
