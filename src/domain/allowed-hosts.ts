/**
 * Whether a scraper may talk to a host, given as in a URL, with its port unless it is the default one. An entry is an
 * exact host; `*.example.gov` matches every host below it, but not example.gov. An entry without a port matches all
 * ports. Without any entries the hosts come with the input, and only the address rules apply.
 */
export function compileHosts(entries: readonly string[]): (host: string) => boolean {
  if (entries.length === 0) return () => true;
  const exact = new Set<string>();
  const below: string[] = [];
  for (const entry of entries.map((each) => each.trim().toLowerCase())) {
    if (entry.startsWith('*.')) below.push(entry.slice(1));
    else exact.add(entry);
  }
  return (host) => {
    const name = host.replace(/:\d+$/, '');
    if (exact.has(host) || exact.has(name)) return true;
    return below.some((suffix) => name.endsWith(suffix) || host.endsWith(suffix));
  };
}
