import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Why parcels of this county cannot be had, one cause after another. */
export const CAUSES = ['redesign', 'login', 'gone', 'broken', 'forbidden', 'nothing found'] as const;
export type Cause = (typeof CAUSES)[number];

export function causeOf(number: number): Cause {
  return CAUSES[number % CAUSES.length] ?? 'redesign';
}

export function parcelOf(number: number): string {
  return `${200 + (number % 700)}-${String(number).padStart(5, '0')}`;
}

export interface FailingCounty {
  readonly url: string;
  requests(): number;
  close(): Promise<void>;
}

/** A county with a search and a page for each parcel, of which none is as a scraper expects it. */
export async function startFailingCounty(): Promise<FailingCounty> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer({ url = '/', method }: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(url, 'http://county.test');
  const html = (status: number, body: string, headers = {}) =>
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(body);
  if (pathname === '/search' && method === 'POST') {
    const token = '<input type="hidden" name="csrf_token" value="secret-of-the-session-12345">';
    html(200, frame(`<form id="found">${token}</form>`), { 'set-cookie': 'session=cookie-of-the-session; Path=/' });
    return;
  }
  if (pathname === '/login') {
    html(200, frame('<form id="login" class="narrow"><input name="user"><input type="password"></form>'));
    return;
  }
  const number = Number(pathname.split('-').at(-1));
  const cause = causeOf(number);
  const body = bodyOf(cause, number);
  if (cause === 'login') html(302, '', { location: `/login?back=${number}` });
  else html(STATUSES[cause] ?? 200, body);
}

const STATUSES: Partial<Record<Cause, number>> = { gone: 404, broken: 500, forbidden: 403 };

/** Each page is a little different, as pages are. */
function bodyOf(cause: Cause, number: number): string {
  const rows = '<tr class="line"><td>2026</td></tr>'.repeat(1 + (number % 9));
  switch (cause) {
    case 'redesign': {
      const badge = number % 4 === 0 ? '<div class="badge">Delinquent</div>' : '';
      const owner = `<dl class="facts"><dt>Owner of record</dt><dd id="owner-of-record">OWNER ${number}</dd></dl>`;
      return frame(
        `<h1>Parcel ${number}</h1>${badge}<section id="summary">${owner}</section><table id="taxes">${rows}</table>`,
      );
    }
    case 'nothing found':
      return frame(`<div id="results"><p>No records found for ${number}.</p></div>`);
    default:
      return frame(`<div class="problem"><h2>${cause}</h2><p>Reference ${number}</p></div>`);
  }
}

function frame(body: string): string {
  return `<!DOCTYPE html><html><head><title>County</title></head><body class="county"><header class="top"><nav id="menu"></nav></header>
<main id="content">${body}</main><footer class="bottom"><p>County of Example</p></footer></body></html>`;
}

/** The search, then the parcel. `selector` is where it looks for the owner. */
export function scraperSource(selector: string): string {
  return `import { defineHttpScraper, z } from 'trawl/scraper';
export default defineHttpScraper({
  id: 'failing-county', name: 'Failing county', version: '1.0.0', description: 'Who owns a parcel.',
  input: z.object({ apn: z.string() }),
  output: z.object({ owner: z.string() }),
  hosts: ['failing-county.test'],
  signs: { no_results: ['No records found'] },
  async scrape({ input, http }) {
    await http.post('http://failing-county.test/search', { form: { apn: input.apn } });
    return { html: await http.get('http://failing-county.test/parcel/' + input.apn) };
  },
  parse: ({ page }) => ({ owner: page.text('${selector}') }),
});
`;
}
