import { type ModelReply, type ModelServer, startModel } from './model-server.ts';

/** A site whose search can be broken: "no records" for everything, or another owner for everyone, or no access at all. */
export interface ForgetfulSite extends ModelServer {
  mode: 'sound' | 'finds-nothing' | 'mixes-up' | 'blocks';
  /** The mode that comes after so many requests from now; null for never. */
  next: { readonly after: number; readonly mode: ForgetfulSite['mode'] } | null;
  /** Requests by parcel. */
  readonly asked: Map<string, number>;
}

/** Every tenth parcel really does not exist. */
export function exists(number: number): boolean {
  return number % 10 !== 3;
}

export async function startForgetfulSite(): Promise<ForgetfulSite> {
  let requests = 0;
  const asked = new Map<string, number>();
  const answer = (path: string): ModelReply => {
    const apn = path.split('/').at(-1) ?? '';
    asked.set(apn, (asked.get(apn) ?? 0) + 1);
    requests += 1;
    if (site.next !== null && requests > site.next.after) {
      site.mode = site.next.mode;
      site.next = null;
    }
    if (site.mode === 'blocks') return { status: 403, body: 'Access denied' };
    const isThere = apn === 'KNOWN' || exists(Number(apn));
    if (site.mode === 'finds-nothing' || !isThere) return { body: '<p id="none">No records found</p>' };
    const owner = site.mode === 'mixes-up' ? 'SOMEBODY ELSE' : `OWNER OF ${apn}`;
    return { body: `<i id="apn">${apn}</i><i id="owner">${owner}</i><i id="printed">visit ${requests}</i>` };
  };
  const server = await startModel('forgetful', ({ url }) => answer(url.pathname));
  const site: ForgetfulSite = { ...server, mode: 'sound', next: null, asked };
  return site;
}
