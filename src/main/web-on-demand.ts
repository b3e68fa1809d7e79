import type { OpenWeb, WebDeps } from '../egress/open-web.ts';

/** Opens the web at the first request: a process whose scrapers make none need not load an HTTP client. */
export function openWebOnDemand(deps: WebDeps): OpenWeb {
  let opened: OpenWeb | null = null;
  let opening: Promise<OpenWeb> | null = null;
  let isClosed = false;

  async function open(): Promise<OpenWeb> {
    const web = (await import('../egress/open-web.ts')).openWeb(deps);
    if (isClosed) await web.close();
    opened = web;
    return web;
  }

  return {
    send(request, visit) {
      if (opened !== null) return opened.send(request, visit);
      opening ??= open();
      return opening.then((web) => web.send(request, visit));
    },
    async close() {
      isClosed = true;
      await (await opening)?.close();
    },
  };
}
