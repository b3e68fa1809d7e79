import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

/** A documentation site on this machine, and what it was asked. */
export interface DocsSite {
  readonly origin: string;
  /** Paths with their query, in the order in which they were asked for. */
  readonly asked: string[];
  /** Pages below `/guide` that a whole pull must find, start page first, each as its path below `/guide`. */
  readonly pages: readonly string[];
  close(): void;
}

const WORDS = 'Some words that make this a page of documentation. '.repeat(5);

/** Pages below `/guide`, and the links of each. */
const LINKS: Readonly<Record<string, readonly string[]>> = {
  '/guide/': ['a', 'b?tab=1', 'b?tab=2', 'manual.pdf', '/guide/', '/other/', '/guide/secret', 'A/'],
  '/guide/a': ['deep/1', '/guide/', 'b?tab=1#top'],
  '/guide/A/': [],
  '/guide/b?tab=1': ['a'],
  '/guide/b?tab=2': ['a'],
  '/guide/deep/1': ['2'],
  '/guide/deep/2': ['3'],
  '/guide/deep/3': [],
  '/guide/mapped': ['a'],
  '/guide/listed': ['a'],
};

/**
 * A start page with a navigation, pages that link to each other in circles, a compressed sitemap with an index that robots.txt names,
 * and an llms.txt. `/guide/secret` is disallowed, `/guide/deep/2` is three links away from the start, and `/guide/broken` fails.
 */
export async function startDocsSite(): Promise<DocsSite> {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    const send = (type: string, body: string | Buffer, status = 200) =>
      response.writeHead(status, { 'content-type': type }).end(body);
    const links = LINKS[url];
    if (links !== undefined) {
      const nav = links.map((href) => `<li><a href="${href}">${href}</a></li>`).join('');
      return send(
        'text/html',
        `<title>Docs</title><nav><ul>${nav}</ul></nav><main><h1>${url}</h1><p>${WORDS}</p></main>`,
      );
    }
    const { origin } = site;
    if (url === '/guide') return response.writeHead(301, { location: '/guide/' }).end();
    if (url === '/robots.txt') {
      return send('text/plain', 'User-agent: *\nDisallow: /guide/secret\nSitemap: /maps/index.xml\n');
    }
    if (url === '/maps/index.xml')
      return send('text/xml', `<sitemapindex><loc>${origin}/maps/1.xml.gz</loc></sitemapindex>`);
    if (url === '/maps/1.xml.gz') {
      const locations = ['/guide/mapped', '/guide/a', '/other/x'].map(
        (path) => `<url><loc>${origin}${path}</loc></url>`,
      );
      return send('application/x-gzip', gzipSync(`<urlset>${locations.join('')}</urlset>`));
    }
    if (url === '/guide/llms.txt') return send('text/plain', '# Docs\n- [Listed](/guide/listed)\n- [Else](/other/)\n');
    if (url === '/guide/broken') return send('text/html', 'broken', 500);
    return send('text/html', '<h1>Not found</h1>', 404);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const site = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    pages: ['', '/a', '/b?tab=1', '/b?tab=2', '/A', '/deep/1', '/mapped', '/listed'],
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return site;
}
