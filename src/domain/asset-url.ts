/** Extensions of files that are kept as links, because fetching them yields no page. */
const ASSET_SUFFIXES: ReadonlySet<string> = new Set([
  ...['.pdf', '.zip', '.tar', '.gz', '.tgz', '.rar', '.7z'],
  ...['.png', '.jpg', '.jpeg', '.gif', '.svg', '.ico', '.webp'],
  ...['.mp4', '.mp3', '.wav', '.webm', '.mov'],
  ...['.doc', '.docx', '.xls', '.xlsx', '.ppt', '.pptx'],
  ...['.exe', '.dmg', '.pkg', '.deb', '.rpm'],
  ...['.xml', '.rss', '.atom'],
]);

/**
 * Whether the URL is that of a file rather than a page, by the last extension of its decoded path. `/a.tar.gz` has
 * `.gz`; a dot file such as `/.pdf` has none.
 */
export function isAssetUrl(url: string): boolean {
  const name = lastName(decodeLeniently(pathOfUrl(url)));
  const dot = name.lastIndexOf('.');
  return dot > 0 && ASSET_SUFFIXES.has(name.slice(dot).toLowerCase());
}

/**
 * The path without scheme, host, parameters of the last segment, query and fragment. Done by hand, because a list may
 * contain URLs that `URL` rejects.
 */
function pathOfUrl(url: string): string {
  const [path = ''] = url
    .trim()
    .replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\/[^/?#]*/i, '')
    .split(/[?#]/, 1);
  const semicolon = path.indexOf(';', path.lastIndexOf('/') + 1);
  return semicolon === -1 ? path : path.slice(0, semicolon);
}

function lastName(path: string): string {
  const end = path.endsWith('/') ? path.length - 1 : path.length;
  return path.slice(path.lastIndexOf('/', end - 1) + 1, end);
}

/** Text that is not percent-encoded UTF-8 stays as it is. */
function decodeLeniently(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
}
