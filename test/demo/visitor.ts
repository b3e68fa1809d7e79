/** A visitor of a site with a cookie jar of the simplest kind. Redirects are followed by hand, to see them. */
export class Visitor {
  readonly cookies = new Map<string, string>();
  readonly #site: string;

  constructor(site: string) {
    this.#site = site;
  }

  async get(path: string): Promise<Seen> {
    return this.#fetch(path, {});
  }

  async post(path: string, form: Readonly<Record<string, string>>): Promise<Seen> {
    return this.#fetch(path, { method: 'POST', body: new URLSearchParams(form) });
  }

  /** Through the disclaimer and the search, up to the list of what was found. */
  async search(fields: Readonly<Record<string, string>>): Promise<Seen> {
    const disclaimer = await this.get('/Search/Disclaimer.aspx');
    await this.post('/Search/Disclaimer.aspx', { ...hiddenFields(disclaimer.text), btAgree: '' });
    const form = await this.get(SEARCH);
    return this.post(SEARCH, { ...hiddenFields(form.text), hdAction: 'Search', ...fields });
  }

  /** Clicks on a row of a result list. */
  async select(list: Seen, row: number): Promise<Seen> {
    const [, target = ''] = /__doPostBack\('([^']+\$lnkSelect)'/.exec(list.text) ?? [];
    return this.post(SEARCH, { ...hiddenFields(list.text), __EVENTTARGET: target, __EVENTARGUMENT: String(row) });
  }

  async #fetch(path: string, init: RequestInit): Promise<Seen> {
    const cookie = [...this.cookies].map((pair) => pair.join('=')).join('; ');
    const response = await fetch(this.#site + path, { ...init, redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    const bytes = Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: response.headers, text: bytes.toString(), bytes };
  }
}

export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
}

export const SEARCH = '/search/CommonSearch.aspx?mode=REALPROP';

export function hiddenFields(html: string): Record<string, string> {
  const fields = html.matchAll(/<input type="hidden" name="([^"]+)" id="[^"]*" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value]));
}
